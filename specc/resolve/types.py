"""Types as written, inference of dims from values, and dtypes that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.diagnostics import nearest
from specc.program.model import ValueType
from specc.resolve.scope import Bound, Unresolved
from specc.syntax import tree

if TYPE_CHECKING:
    from specc.diagnostics import Report
    from specc.program.dims import Entry
    from specc.source import Span

DTYPES = ("i64", "bool", "fp32", "bf16", "fp16")


def value_type(written: tree.Type, bound: Bound) -> ValueType:
    """The type that a signature or annotation writes."""
    if written.dtype is not None and written.dtype not in DTYPES:
        near = nearest(written.dtype, DTYPES)
        bound.report.error(
            "E0603",
            written.span,
            f"unknown dtype `{written.dtype}`",
            "not a dtype",
            notes=[f"dtypes: {', '.join(DTYPES)}"],
            helps=[f"did you mean `{near}`?"] if near else [],
        )
        raise Unresolved
    return ValueType(written.dtype or "float", bound.shape(written.shape))


def check_dtype(
    report: Report, owner: str, wanted: ValueType, given: ValueType, span: Span
) -> None:
    """Report integers where floats are due, and the other way round."""
    exact = {"i64", "bool"}
    if wanted.dtype == given.dtype or not exact & {wanted.dtype, given.dtype}:
        return
    said = {"float": "floating-point numbers", "i64": "whole numbers (i64)", "bool": "bool"}
    report.error(
        "E0226",
        span,
        f"`{owner}` takes {said.get(wanted.dtype, wanted.dtype)}, "
        f"and is given {said.get(given.dtype, given.dtype)}",
        f"this is {given.dtype}",
    )
    raise Unresolved


def infer_dims(
    written: tree.Type, given: ValueType, free: set[str], formals: dict[str, Entry]
) -> tuple[Entry, ...] | None:
    """Bind free dims that stand alone in a written type; returns the entries of its `..`."""
    entries = written.shape.entries
    shape = given.shape
    leading = None
    if entries and isinstance(entries[0], tree.Others):
        count = max(0, len(shape) - len(entries) + 1)
        leading, shape, entries = shape[:count], shape[count:], entries[1:]
    for expr, entry in zip(entries, shape, strict=False):
        if isinstance(expr, tree.Name) and expr.name in free:
            formals.setdefault(expr.name, entry)
    return leading
