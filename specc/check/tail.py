"""Losses that run in chunks of tokens, and losses whose count depends on the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model
from specc.program.dims import shape_names
from specc.vocabulary.find import find
from specc.vocabulary.signature import parse_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specc.diagnostics import Report
    from specc.program.dims import Entry
    from specc.program.model import BlockClass, Value
    from specc.program.program import LossTerm, Program
    from specc.source import Span
    from specc.vocabulary.record import LossRecord, SettingValue


def check_losses(
    program: Program, settings: Sequence[Mapping[str, SettingValue]], report: Report
) -> None:
    """Report losses that cannot run in chunks, or be counted, as they ask."""
    assert program.train is not None
    terms = program.train.loss
    for term, given in zip(terms, settings, strict=True):
        record: LossRecord = find("losses", term.function)
        chunked = record.chunk is not None and given.get(record.chunk) is not None
        ignoring = record.ignore is not None and not _is_default(record, record.ignore, given)
        if len(terms) > 1 and (chunked or ignoring):
            setting = record.chunk if chunked else record.ignore
            what = f"`{setting}` in a loss of several terms"
            _refuse(term, what, "give the loss one term", report)
        elif chunked:
            _check_chunked(program, term, report)


def _is_default(record: LossRecord, name: str, given: Mapping[str, SettingValue]) -> bool:
    default = next(setting.default for setting in record.settings if setting.name == name)
    return name not in given or given[name] == default


def _refuse(term: LossTerm, what: str, way_out: str, report: Report) -> None:
    report.error(
        "E0495",
        term.span,
        f"this version of specc understands {what} and cannot build it yet",
        "not built yet",
        helps=[way_out],
    )


def _check_chunked(program: Program, term: LossTerm, report: Report) -> None:
    assert program.model is not None
    made = program.classes[program.model]
    logits, labels = term.arguments[0], term.arguments[-1]
    results = [name for name, _ in made.results]
    if labels in {name for name, _ in made.inputs}:
        way_out = "leave out `chunk`"
        _refuse(term, "`chunk` with labels that the model takes, too,", way_out, report)
    elif len(results) > 1:
        way_out = "leave out `chunk`, or return the logits alone"
        _refuse(term, "`chunk` for a model with several results", way_out, report)
    elif logits not in results:
        _report_tail(term, None, f"`{logits}` is no result of the model", report)
    else:
        fault = _fault(made)
        if fault is not None:
            _report_tail(term, *fault, report)


def _report_tail(term: LossTerm, span: Span | None, why: str, report: Report) -> None:
    report.error(
        "E0617",
        term.span,
        "`chunk` needs logits that the end of the model makes for each token alone",
        "asks for chunks of tokens",
        also=[(span, why)] if span is not None else [],
        notes=[
            "the end of the model, from the last value without the class dim, runs inside the loss"
        ],
        helps=["leave out `chunk`, or end the model in `.. -> norm -> head`"],
    )


def _fault(made: BlockClass) -> tuple[Span, str] | None:
    """Where the end of the model stops working on each token alone."""
    *before, last = made.statements
    assert isinstance(last, model.Return)
    value = last.values[0]
    classes = made.results[0][1].shape[-1:]
    while _last_dim(value) == classes:
        if isinstance(value, model.Ref):
            statement = before.pop() if before else None
            names = statement.names if isinstance(statement, model.Assign) else ()
            if names != (value.name,) or not isinstance(statement, model.Assign):
                return value.span, f"`{value.name}` is not made by the statement before"
            value = statement.value
            continue
        operand = _operand(value, made, classes)
        if operand is None:
            return value.span, "does not work on each token alone"
        value = operand
    return None


def _last_dim(value: Value) -> tuple[Entry, ...]:
    match value:
        case model.Scalar():
            return ()
        case model.ApplyPart() | model.ApplyFunction():
            return value.types[0].shape[-1:]
        case _:
            return value.type.shape[-1:]


def _operand(value: Value, made: BlockClass, classes: tuple[Entry, ...]) -> Value | None:
    """The one value with token dims that a value is made of, token by token."""
    match value:
        case model.ApplyPart(part, None, (first,)) if _is_per_token(made.part(part).what):
            return first
        case model.ApplyFunction(function, (first,)) if not value.foreign:
            record = find("functions", function)
            return first if record.takes and _letters_per_token(record.takes) else None
        case model.Arithmetic(_, left, right):
            whole = [side for side in (left, right) if side is not None and _has_tokens(side)]
            fits = len(whole) == 1 and _last_dim(whole[0]) == classes
            return whole[0] if fits else None
        case model.Cast(inner):
            return inner
        case _:
            return None


def _has_tokens(value: Value) -> bool:
    """Whether a value differs from token to token; parameters and numbers do not."""
    if isinstance(value, model.Scalar | model.PartValue):
        return False
    if isinstance(value, model.ApplyPart | model.ApplyFunction):
        return bool(shape_names(value.types[0].shape))
    return bool(shape_names(value.type.shape))


def _is_per_token(what: model.What) -> bool:
    match what:
        case model.Leaf("Dropout"):  # its mask is drawn by the position in the whole value
            return False
        case model.Leaf(kind):
            return _letters_per_token(find("parts", kind).takes)
        case model.Chain(items):
            return all(_is_per_token(item) for item in items)
        case _:
            return False


def _letters_per_token(takes: str) -> bool:
    """Whether a signature is `[.., I] -> [.., O]` or `[..] -> [..]`."""
    signature = parse_signature(takes)
    operands = (*signature.operands, *signature.results)
    return len(signature.operands) == 1 and all(
        o.letters[:1] == ("..",) and len(o.letters) <= 2 for o in operands
    )
