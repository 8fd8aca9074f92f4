"""Sources of the data fields, and whether what they give fits what takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from specc.check.names import Unknown
from specc.check.settings import constructor
from specc.program import model
from specc.program.dims import show, size
from specc.program.walk import values_of
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.check.expressions import Scope
    from specc.diagnostics import Report
    from specc.program.dims import Entry
    from specc.program.program import Field, Program
    from specc.source import Span
    from specc.vocabulary.record import Constructor

WHOLE_NUMBERS = ("i64", "bool")


def evaluate_sources(fields: tuple[Field, ...], scope: Scope) -> dict[str, Constructor]:
    """The source of every field by name; what is wrong with them is reported."""
    sources: dict[str, Constructor] = {}
    for field in fields:
        made = constructor(field.source, scope, "data", "data source")
        if not isinstance(made, Unknown):
            sources[field.name] = made
            _check_fills(field, made, scope.report)
    _check_files(fields, sources, scope.report)
    return sources


def _check_files(
    fields: tuple[Field, ...], sources: Mapping[str, Constructor], report: Report
) -> None:
    """Fields of files come from one source: the loop opens one."""
    reading = [
        field
        for field in fields
        if field.position == 0
        and field.name in sources
        and find("data", sources[field.name].name).results > 1
    ]
    for field in reading[1:]:
        report.error(
            "E0494",
            field.source.span,
            "this version of specc reads the fields of one source of files and cannot build "
            "a second one yet",
            "not built yet",
            also=[(reading[0].source.span, "reads files")],
            helps=["put both into one source, or fill the other fields with `randn` or `randint`"],
        )


def _check_fills(field: Field, source: Constructor, report: Report) -> None:
    record: Any = find("data", source.name)
    if record.vocabulary is not None and record.vocabulary(source.settings) < 1:
        title = f"`{field.source.span.text}` has no ids to give"
        report.error("E0235", field.source.span, title, "at least 1")
    if len(field.group) != record.results and field.position == 0:
        names = ", ".join(field.group)
        count = f"{record.results} field{'s' if record.results > 1 else ''}"
        report.error(
            "E0615",
            field.source.span,
            f"`{source.name}` fills {count}, and {len(field.group)} are named: {names}",
            f"gives {record.results}",
            helps=[
                "write `ids, labels = ...`" if record.results == 2 else "write one line a field"
            ],
        )
    wanted, given = field.type.dtype in WHOLE_NUMBERS, record.dtype in WHOLE_NUMBERS
    if wanted != given:
        kinds = {True: "whole numbers", False: "floating-point numbers"}
        report.error(
            "E0615",
            field.source.span,
            f"`{source.name}` gives {kinds[given]}, and `{field.name}` is {field.type.dtype}",
            kinds[given],
            helps=["use `randint(n)`"] if wanted else ["use `randn`"],
        )


def check_batch(fields: tuple[Field, ...], report: Report) -> None:
    """The first dim of every field is the batch: one and the same named dim."""
    first: Field | None = None
    for field in fields:
        entry = field.type.shape[0] if field.type.shape else ()
        named = len(entry) == 1 and len(entry[0]) == 1 and isinstance(entry[0][0], str)
        if not named:
            shown = show(entry) if entry else "nothing"
            report.error(
                "E0612",
                field.span,
                f"the first dim of `{field.name}` is {shown}, not one named dim",
                "every field starts with the batch",
            )
        elif first is None:
            first = field
        elif first.type.shape[0] != entry:
            report.error(
                "E0612",
                field.span,
                f"`{first.name}` and `{field.name}` start with different dims: "
                f"`{show(first.type.shape[0])}` and `{show(entry)}`",
                f"`{show(entry)}` here",
                also=[(first.span, f"`{show(first.type.shape[0])}` here")],
                helps=["the first dim of every field is the batch"],
            )


def check_held_out(
    fields: tuple[Field, ...], sources: Mapping[str, Constructor], span: Span, report: Report
) -> None:
    """`evaluate` reads what a source holds out; every source must hold something out."""
    for field in fields:
        source = sources.get(field.name)
        if source is None:
            continue
        can, does = find("data", source.name).held_out, source.settings.get("held_out")
        if can and does:
            continue
        report.error(
            "E0613",
            span,
            f"nothing is held out of `{field.name}` to evaluate on",
            "evaluates",
            also=[(field.source.span, "all of it is trained on")],
            helps=[
                "add `held_out = 0.1`"
                if can
                else "use a source with `held_out`, such as `text(..)`"
            ],
        )
        return


def check_ids(
    program: Program,
    fields: tuple[Field, ...],
    sources: Mapping[str, Constructor],
    sizes: Mapping[str, int],
    report: Report,
) -> None:
    """Ids that a source gives must be rows of the tables they enter, and classes of the loss."""
    rows = _rows(program)
    for field in fields:
        source = sources.get(field.name)
        record: Any = find("data", source.name) if source is not None else None
        if source is None or record.vocabulary is None:
            continue
        ids = record.vocabulary(source.settings)
        for what, entry in rows.get(field.name, ()):
            count = size(entry, sizes)
            if ids > count:
                report.error(
                    "E0614",
                    field.source.span,
                    f"`{field.name}` holds ids up to {ids - 1}, and {what} has {count} rows",
                    f"{ids} different ids",
                    helps=[f"make `{show(entry)}` at least {ids}"],
                )


def _rows(program: Program) -> dict[str, list[tuple[str, Entry]]]:
    """For each field, the tables that it enters and the class dims that it is compared with."""
    rows: dict[str, list[tuple[str, Entry]]] = {}
    assert program.model is not None
    made = program.classes[program.model]
    inputs = {name for name, _ in made.inputs}
    for name, table, entry in _tables(made):
        if name in inputs:
            rows.setdefault(name, []).append((f"`{table}`", entry))
    for term in program.train.loss if program.train else ():
        if term.function == "cross_entropy" and len(term.arguments) == 2:
            entry = term.types[0].shape[-1]
            rows.setdefault(term.arguments[1], []).append((f"`{term.arguments[0]}`", entry))
    return rows


def _tables(made: model.BlockClass) -> Iterator[tuple[str, str, Entry]]:
    for value in values_of(made.statements):
        if not isinstance(value, model.ApplyPart):
            continue
        what = made.part(value.part).what
        first = value.arguments[0] if value.arguments else None
        if (
            isinstance(what, model.Leaf)
            and what.kind == "Embedding"
            and isinstance(first, model.Ref)
        ):
            yield first.name, value.part, what.dims["V"]
