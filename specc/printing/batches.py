"""Text of the data: where it comes from, and this rank's part of every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.texts import entry_text
from specc.printing.context import Context, literal
from specc.printing.fit import fit
from specc.printing.values import value_names
from specc.program import model
from specc.program.walk import values_of

if TYPE_CHECKING:
    from specc.plan.facts import Training
    from specc.program.dims import Entry
    from specc.program.model import ValueType
    from specc.program.program import Field
    from specc.vocabulary.record import Constructor

FILES = ("text", "tokens")


def groups_of(training: Training) -> list[tuple[tuple[Field, ...], Constructor]]:
    """Fields that one source fills together, in order."""
    found: dict[tuple[str, ...], list[Field]] = {}
    for field in training.fields:
        found.setdefault(field.group, []).append(field)
    return [(tuple(fields), training.sources[fields[0].name]) for fields in found.values()]


def source_lines(context: Context) -> list[str]:
    """Lines of `main()` that open the files; none for drawn data."""
    training = context.facts.training
    for fields, source in groups_of(training):
        if source.name not in FILES:
            continue
        path, length = literal(source.settings["path"]), entry_text(fields[0].type.shape[1])
        if source.name == "tokens":
            return fit(
                f"source = token_files({path}, torch.{source.settings['dtype']}, {length})", 4
            )
        held = source.settings["held_out"]
        target = "source, held_out" if training.evaluate_every is not None else "source, _"
        return fit(f"{target} = text_tokens({path}, {length}, {literal(held)})", 4)
    return []


def reads_files(context: Context) -> bool:
    """Whether batches come from files rather than from draws."""
    return any(source.name in FILES for _, source in groups_of(context.facts.training))


def batch_lines(context: Context) -> list[str]:
    """`batches(..)`: a generator of this rank's part of every microbatch."""
    training = context.facts.training
    files = reads_files(context)
    names = value_names(context.facts)
    words = "source, device, start" if files else "device, start"
    place = context.place(training.fields[0].span)
    lines = [f"def batches({words}):  # {place}", f'    """{_doc(context)}"""']
    lines.append("    for index in range(start * ACCUMULATE, STEPS * ACCUMULATE):")
    for fields, source in groups_of(training):
        lines.extend(
            _draw(
                context,
                fields,
                source,
                "source",
                "index * " + entry_text(fields[0].type.shape[0]),
                "SEED",
            )
        )
    lines.extend(
        fit("yield " + ", ".join(f"{names[f.name]}.to(device)" for f in training.fields), 8)
    )
    if training.evaluate_every is None:
        return lines
    return [*lines, "", "", *_held_out(context)]


def _held_out(context: Context) -> list[str]:
    training, names = context.facts.training, value_names(context.facts)
    fields, source = next((f, s) for f, s in groups_of(training) if s.name in FILES)
    lines = [
        "def held_out_batches(source, device):",
        '    """Batches of the text that is not trained on, in its order."""',
    ]
    lines.append("    for index in range(EVALUATE_BATCHES):")
    first = "index * " + entry_text(fields[0].type.shape[0])
    lines.extend(_draw(context, fields, source, "source", first, "None"))
    lines.extend(fit("yield " + ", ".join(f"{names[f.name]}.to(device)" for f in fields), 8))
    return lines


def _doc(context: Context) -> str:
    splits = [f"{s.dim} over {'*'.join(s.axes)}" for s in context.facts.layout.splits]
    if not splits:
        return "Every batch from step `start` on."
    return f"This rank's part of every batch from step `start` on: {', '.join(splits)}."


def _draw(
    context: Context,
    fields: tuple[Field, ...],
    source: Constructor,
    name: str,
    first: str,
    seed: str,
) -> list[str]:
    shape = fields[0].type.shape
    names = value_names(context.facts)
    if source.name in FILES:
        ranges = ", ".join(_range(context, entry, fields[0].type) for entry in shape[:2])
        shuffle = seed if source.settings["shuffle"] else "None"
        targets = ", ".join(names[field.name] for field in fields)
        call = f"windows({name}, {first}, {ranges}, {entry_text(shape[1])}, shuffle={shuffle})"
        lines = fit(f"{targets} = {call}", 8)
        rows = _table_rows(context, fields[0].name) if source.name == "tokens" else None
        return [*lines, f"        check_ids({names[fields[0].name]}, {rows})"] if rows else lines
    sizes = ", ".join(entry_text(entry) for entry in shape)
    part = _part(context, fields[0].type)
    key = f'(SEED, "{fields[0].name}", index)'
    one = "," if len(shape) == 1 else ""
    match source.name:
        case "randn":
            call = f"draw_normal({key}, ({sizes}{one}), {part})"
        case "randint":
            call = f"draw_integers({key}, ({sizes}{one}), {part}, {_high(context, fields[0])})"
        case _:
            local = ", ".join(context.local(entry, fields[0].type) for entry in shape)
            call = f"torch.{source.name}({local})"
    return fit(f"{names[fields[0].name]} = {call}", 8)


def _high(context: Context, field: Field) -> str:
    """Text of `n` in `randint(n)`: as written, over named constants."""
    source = context.facts.training.sources[field.name]
    written = field.source
    argument = getattr(written, "arguments", ())
    if argument:
        return context.real(argument[0].value, {})
    return literal(source.settings["high"])


def _range(context: Context, entry: Entry, kind: ValueType) -> str:
    local, start = context.local(entry, kind), context.start(entry, kind)
    return f"range({local})" if start == "0" else f"range({start}, {start} + {local})"


def _part(context: Context, kind: ValueType) -> str:
    """Ranges of the leading dims up to the last one that is split."""
    split = [i for i, entry in enumerate(kind.shape) if context.start(entry, kind) != "0"]
    if not split:
        return "()"
    ranges = [_range(context, entry, kind) for entry in kind.shape[: split[-1] + 1]]
    return f"({', '.join(ranges)}{',' if len(ranges) == 1 else ''})"


def _table_rows(context: Context, field: str) -> str | None:
    """Rows of the Embedding that a model input enters first."""
    root = context.facts.model
    assert root.block is not None
    if field not in dict(root.block.inputs):
        return None
    for value in values_of(root.block.statements):
        match value:
            case model.ApplyPart(part, _, (model.Ref(name), *_)) if name == field:
                what = root.block.part(part).what
                if isinstance(what, model.Leaf) and what.kind == "Embedding":
                    return entry_text(what.dims["V"])
            case _:
                pass
    return None
