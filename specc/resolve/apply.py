"""Applying parts to values: what comes out of leaves, blocks, chains and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model
from specc.program.dims import show, show_shape
from specc.resolve.parts import BlockUse, ChainOf, Draft, ExternUse, ListOfParts
from specc.resolve.scope import Unresolved
from specc.resolve.types import check_dtype
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.record import Binding
from specc.vocabulary.signature import match, parse_signature, result_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specc.program.model import ValueType
    from specc.resolve.body import Body
    from specc.source import Span


def apply_draft(
    body: Body,
    part: Draft,
    name: str,
    index: tree.Expr | None,
    types: Sequence[ValueType],
    span: Span,
) -> tuple[ValueType, ...]:
    """Result types of a part applied to values; `name` is how messages call it."""
    if index is not None:
        return _apply_element(body, part, name, index, types, span)
    match part:
        case model.Leaf():
            return _apply_leaf(body, part, name, types, span)
        case BlockUse():
            made = body.blocks.apply(part, types, body.bound, span)
            return tuple(kind for _, kind in made.results)
        case ExternUse():
            inputs, results = body.blocks.apply_extern(part, types, body.bound)
            _check_extern(body, name, inputs, types, span)
            return results
        case ChainOf(items):
            return _apply_chain(body, items, name, types, span)
        case ListOfParts():
            return _apply_list(body, part, name, types, span)


def _apply_element(
    body: Body,
    part: Draft,
    name: str,
    index: tree.Expr,
    types: Sequence[ValueType],
    span: Span,
) -> tuple[ValueType, ...]:
    if not isinstance(part, (ChainOf, ListOfParts)):
        body.report.error(
            "E0224", index.span, f"`{name}` is not a list", "an index into a single part"
        )
        raise Unresolved
    if not isinstance(index, tree.Number) or not isinstance(index.value, int):
        body.report.error("E0224", index.span, "an element is named by a number", "not a number")
        raise Unresolved
    item = part.items[index.value % len(part.items)]
    return apply_draft(body, item, f"{name}[{index.value}]", None, types, span)


def _apply_leaf(
    body: Body, part: model.Leaf, name: str, types: Sequence[ValueType], span: Span
) -> tuple[ValueType, ...]:
    record = find("parts", part.kind)
    signature = parse_signature(record.takes)
    if not signature.operands:
        body.report.error(
            "E0224",
            span,
            f"`{name}` is a `{part.kind}`: a value, not something to apply",
            "applied here",
            helps=[f"use it by name: `{name} + x`"],
        )
        raise Unresolved
    if len(types) != len(signature.operands):
        body.report.error(
            "E0210", span, f"`{name}` takes one value, and is given {len(types)}", "one too many"
        )
        raise Unresolved
    binding = Binding(dict(part.dims))
    for operand, given in zip(signature.operands, types, strict=True):
        wrong = match(operand, given.shape, binding)
        if wrong is not None:
            _report_leaf(body, part, name, given, span)
            raise Unresolved
        wanted = model.ValueType(operand.dtype or "float", given.shape)
        check_dtype(body.report, name, wanted, given, span)
    return result_types(signature, binding, "float")


def _report_leaf(body: Body, part: model.Leaf, name: str, given: ValueType, span: Span) -> None:
    wanted = next(iter(part.dims.values()))
    last = show(given.shape[-1]) if given.shape else "no dim"
    arrow = " -> ".join(show(entry) for entry in part.dims.values())
    body.report.error(
        "E0211",
        span,
        f"`{name}` takes [.., {show(wanted)}] but is given {show_shape(given.shape)}",
        f"expected last dim `{show(wanted)}`, found `{last}`",
        also=[(part.span, arrow)],
    )


def _check_extern(
    body: Body,
    name: str,
    inputs: Sequence[ValueType],
    types: Sequence[ValueType],
    span: Span,
) -> None:
    if len(inputs) != len(types):
        title = f"`{name}` takes {len(inputs)} values, and is given {len(types)}"
        body.report.error("E0210", span, title, f"{len(types)} here")
        raise Unresolved
    for wanted, given in zip(inputs, types, strict=True):
        if wanted.shape != given.shape:
            body.report.error(
                "E0211",
                span,
                f"`{name}` takes {show_shape(wanted.shape)} but is given {show_shape(given.shape)}",
                f"expected {show_shape(wanted.shape)}",
            )
            raise Unresolved
        check_dtype(body.report, name, wanted, given, span)


def _apply_chain(
    body: Body, items: tuple[Draft, ...], name: str, types: Sequence[ValueType], span: Span
) -> tuple[ValueType, ...]:
    if len(types) != 1:
        body.report.error(
            "E0210",
            span,
            f"the chain `{name}` takes one value, and is given {len(types)}",
            "one too many",
            helps=["only lists pass further values to every element"],
        )
        raise Unresolved
    current = tuple(types)
    for number, item in enumerate(items):
        current = apply_draft(body, item, f"{name}[{number}]", None, current, span)
        if len(current) != 1:
            title = f"element {number} of the chain `{name}` gives {len(current)} values"
            body.report.error("E0222", span, title, "a chain carries one")
            raise Unresolved
    return current


def _apply_list(
    body: Body, part: ListOfParts, name: str, types: Sequence[ValueType], span: Span
) -> tuple[ValueType, ...]:
    """Run the first values through the elements; the others go to every element unchanged."""
    current = tuple(types)
    threaded = len(types)
    for number, item in enumerate(part.items):
        results = apply_draft(body, item, f"{name}[{number}]", None, current, span)
        threaded = len(results)
        current = (*results, *current[threaded:])
    if part.count is not None and current != tuple(types):
        before = ", ".join(show_shape(t.shape) for t in types[:threaded])
        after = ", ".join(show_shape(t.shape) for t in current[:threaded])
        body.report.error(
            "E0211",
            span,
            f"`{name}` repeats parts that take {before} and give {after}",
            "the next element could not take it",
        )
        raise Unresolved
    return current[:threaded]
