"""The constants at the top of the text, in an order that Python can read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from specc.check.texts import entry_text
from specc.printing.context import Context, inner_stem, literal
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from specc.source import Span
    from specc.vocabulary.record import SettingValue


@attrs.frozen
class Constant:
    """`DP = 4  # longctx.spec:20`; constants of one `line` are written as one tuple."""

    name: str
    value: str
    comment: str = ""
    line: str = ""


def constants(context: Context) -> list[Constant]:
    """Every constant that the text may use; the printer drops those that it does not."""
    facts = context.facts
    target = facts.target
    return [
        Constant("DEVICE", f'"{target.device}"', line="device"),
        Constant("BACKEND", f'"{target.backend}"', line="device"),
        Constant("RANK", 'int(os.environ.get("RANK", "0"))', line="rank"),
        Constant("WORLD", 'int(os.environ.get("WORLD_SIZE", "1"))', line="rank"),
        *_axes(context),
        *_dims(context),
        *_training(context),
        Constant("METRICS", 'os.environ.get("METRICS")', "a file: one JSON line a step"),
        Constant("RESUME", 'os.environ.get("RESUME")', "`latest`, or a folder of a checkpoint"),
    ]


def _axes(context: Context) -> list[Constant]:
    mesh = context.facts.mesh
    found: list[Constant] = []
    for axis in sorted(mesh.axes, key=lambda axis: not axis.size.text.isdigit()):
        text, line = axis.size.text, "axes"
        if not text.isdigit():  # an open size needs the others, so it comes last
            line = ""
        if "//" in text:  # too few ranks: join() says so, a division by zero would not
            text = f"max(1, {text})"
        found.append(Constant(axis.name.upper(), text, context.place(axis.span), line))
    for name, leaves in mesh.products.items():
        if (name,) != leaves:
            found.append(Constant(name.upper(), " * ".join(leaf.upper() for leaf in leaves)))
    found.extend(_rank(context, name) for name in [axis.name for axis in mesh.axes])
    return found


def _rank(context: Context, name: str) -> Constant:
    """This rank's coordinate along an axis; the last axis varies fastest."""
    axes = [axis.name for axis in context.facts.mesh.axes]
    after = [other.upper() for other in axes[axes.index(name) + 1 :]]
    text = "RANK"
    if after:
        product = " * ".join(after)
        text += f" // {product}" if len(after) == 1 else f" // ({product})"
    if axes.index(name):
        text += f" % {name.upper()}"
    return Constant(f"{name.upper()}_RANK", text, line="ranks")


def _dims(context: Context) -> list[Constant]:
    facts = context.facts
    found: list[Constant] = []
    waiting = dict(facts.dims)
    while waiting:
        ready = [
            n
            for n, s in waiting.items()
            if not _needs(s.text, [w.upper() for w in waiting if w != n])
        ]
        for name in ready:
            size = waiting.pop(name)
            plain = size.text.replace("_", "").isdigit()
            declared = facts.program.dims[name].span if name in facts.program.dims else None
            line = f"dims{context.place(declared)}" if declared is not None and plain else ""
            text = number_text(int(size.text)) if plain else size.text
            found.append(Constant(name.upper(), text, line=line))
            for stem, whole, outer, axes, rule in _pieces(context, name):
                found.append(_local(context, stem, whole, axes, rule))
                found.append(_local_start(stem, outer, axes))
    return found


def _pieces(context: Context, dim: str) -> Iterator[tuple[str, str, str, tuple[str, ...], Span]]:
    """Pieces of a dim: stem of their constants, what is cut, where that starts, axes, rule."""
    layout = context.facts.layout
    split = next((split for split in layout.splits if split.dim == dim), None)
    upper = dim.upper()
    if split is not None:
        yield upper, upper, "", split.axes, split.rule
    tensor = layout.tensor
    if tensor is not None and dim in tensor.dims:
        yield upper, upper, "", tensor.axes, tensor.rules[dim]
    if tensor is not None and dim == tensor.otherwise:
        whole, outer = (f"{upper}_LOCAL", f"{upper}_START") if split is not None else (upper, "")
        yield inner_stem(tensor), whole, outer, tensor.axes, tensor.rules[dim]


def _needs(text: str, names: Iterable[str]) -> bool:
    return bool(set(re.findall(r"[A-Z_0-9]+", text)) & set(names))


def _degree(axes: tuple[str, ...]) -> str:
    return " * ".join(axis.upper() for axis in axes)


def _local(context: Context, stem: str, whole: str, axes: tuple[str, ...], rule: Span) -> Constant:
    degree = _degree(axes) if len(axes) == 1 else f"({_degree(axes)})"
    where = f"on each rank of {'*'.join(axes)}  {context.place(rule)}"
    return Constant(f"{stem}_LOCAL", f"{whole} // {degree}", where)


def _local_start(stem: str, outer: str, axes: tuple[str, ...]) -> Constant:
    position = f"{axes[0].upper()}_RANK"
    for axis in axes[1:]:
        position = f"({position} * {axis.upper()} + {axis.upper()}_RANK)"
    front = f"{outer} + " if outer else ""
    text = f"{front}{position} * {stem}_LOCAL"
    return Constant(f"{stem}_START", text, "where this rank's part begins")


def _training(context: Context) -> list[Constant]:
    training = context.facts.training
    values: list[tuple[str, SettingValue, str]] = [
        ("STEPS", training.steps, "steps"),
        ("ACCUMULATE", training.accumulate, "steps"),
        ("SEED", training.seed, "steps"),
        ("LR", training.optimizer.settings["lr"], "rate"),
    ]
    if training.schedule is not None:
        values += [(n.upper(), v, "rate") for n, v in training.schedule.settings.items()]
    if training.clip is not None:
        values.append(("CLIP", training.clip, "rate"))
    values.append(("LOG_EVERY", training.log_every or 10, "log"))
    if training.log_warmup:
        values.append(("LOG_WARMUP", training.log_warmup, "log"))
    if training.evaluate_every is not None:
        values += [
            ("EVALUATE_EVERY", training.evaluate_every, "evaluate"),
            ("EVALUATE_BATCHES", training.evaluate_batches or 8, "evaluate"),
        ]
    if training.save_every is not None:
        values += [
            ("SAVE_EVERY", training.save_every, "save"),
            ("SAVE_DIR", training.save_dir, "save"),
            ("SAVE_KEEP", training.save_keep, "save"),
        ]
    found = [Constant(name, literal(value), line=line) for name, value, line in values]
    for settings in training.loss_settings:
        if settings.get("chunk"):
            found.append(
                Constant(
                    "LOSS_CHUNK",
                    literal(settings["chunk"]),
                    "tokens whose logits exist at one time",
                )
            )
            break
    found.append(seen(context))
    return found


def seen(context: Context) -> Constant:
    """`TOKENS` or `SAMPLES` of one step: the first field's positions, without a feature dim."""
    fields = context.facts.training.fields
    kind = fields[0].type
    shape = kind.shape if kind.dtype == "i64" else kind.shape[:-1] or kind.shape
    sizes = " * ".join(entry_text(entry) for entry in shape)
    return Constant(
        "TOKENS" if len(shape) > 1 else "SAMPLES", f"{sizes} * ACCUMULATE", "in one step"
    )


def constant_lines(found: list[Constant], used: set[str]) -> list[str]:
    """The constants that the text uses, tuples of those that share a line."""
    wanted = _closure(found, used)
    kept = [c for c in found if c.name in wanted]
    lines: list[str] = []
    position = 0
    while position < len(kept):
        group = [kept[position]]
        while (
            group[0].line
            and position + len(group) < len(kept)
            and kept[position + len(group)].line == group[0].line
            and _width([*group, kept[position + len(group)]]) <= 100
        ):
            group.append(kept[position + len(group)])
        position += len(group)
        names = ", ".join(c.name for c in group)
        text = f"{names} = {', '.join(c.value for c in group)}"
        comment = next((c.comment for c in group if c.comment), "")
        lines.append(f"{text}  # {comment}" if comment else text)
    return lines


def _width(group: list[Constant]) -> int:
    comment = max(len(c.comment) + 4 if c.comment else 0 for c in group)
    return sum(len(c.name) + len(c.value) + 4 for c in group) + comment


def _closure(found: list[Constant], used: set[str]) -> set[str]:
    values = {c.name: set(re.findall(r"[A-Z][A-Z_0-9]*", c.value)) for c in found}
    wanted: set[str] = set()
    queue = [name for name in used if name in values]
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue.extend(n for n in values[name] if n in values)
    return wanted
