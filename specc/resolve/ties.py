"""Ties: two parameters of a block that are one tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from specc.diagnostics import nearest
from specc.program import model
from specc.program.dims import show_shape
from specc.resolve.parts import BlockUse, ChainOf, Draft, ListOfParts
from specc.resolve.scope import Unresolved
from specc.syntax import tree

if TYPE_CHECKING:
    from specc.program.dims import Shape
    from specc.resolve.body import Body


def tie(body: Body, statement: tree.Tie) -> model.Tie:
    """The tie that a statement says; both sides must exist and have one shape."""
    left, right = _path(body, statement.left), _path(body, statement.right)
    left_shape, right_shape = (
        _shape(body, left, statement.left),
        _shape(body, right, statement.right),
    )
    if left == right:
        body.report.error(
            "E0217", statement.span, "a parameter is tied to itself", "both sides are one"
        )
        raise Unresolved
    if left_shape != right_shape:
        body.report.error(
            "E0217",
            statement.left.span,
            f"cannot tie {show_shape(left_shape)} to {show_shape(right_shape)}",
            show_shape(left_shape),
            also=[(statement.right.span, show_shape(right_shape))],
        )
        raise Unresolved
    body.used.update((left[0], right[0]))
    return model.Tie(left, right, statement.span)


def _path(body: Body, expr: tree.Expr) -> tuple[str, ...]:
    match expr:
        case tree.Name(name):
            return (name,)
        case tree.Attribute(base, name):
            return (*_path(body, base), name)
        case tree.Item(base, (tree.Number(value),)):
            return (*_path(body, base), str(value))
        case _:
            body.report.error(
                "E0224",
                expr.span,
                "a tie names parameters by their paths",
                "not a path",
                helps=["write `tie head.weight = embed.weight`"],
            )
            raise Unresolved


def _shape(body: Body, path: tuple[str, ...], expr: tree.Expr) -> Shape:
    part = body.parts.get(path[0])
    if part is None:
        _unknown(body, expr, path[0], list(body.parts))
    return _walk(body, part, path[1:], expr)


def _walk(body: Body, part: Draft, rest: tuple[str, ...], expr: tree.Expr) -> Shape:
    match part:
        case model.Leaf(_, _, _, parameters):
            for parameter in parameters:
                if (parameter.name,) == rest or (parameter.name == "" and not rest):
                    return parameter.shape
            names = [p.name for p in parameters]
            _unknown(body, expr, rest[0] if rest else part.kind, names)
        case ChainOf(items) | ListOfParts(items, None) if rest and rest[0].isdigit():
            if int(rest[0]) < len(items):
                return _walk(body, items[int(rest[0])], rest[1:], expr)
        case ListOfParts(items) if rest and rest[0].isdigit():
            return _walk(body, items[int(rest[0]) % len(items)], rest[1:], expr)
        case BlockUse() if part.instance is not None and rest:
            made = body.blocks.classes[part.instance.block]
            inner = next((p.what for p in made.parts if p.name == rest[0]), None)
            if inner is not None:
                return _walk_settled(body, inner, rest[1:], expr)
        case _:
            pass
    body.report.error(
        "E0204", expr.span, f"`{expr.span.text}` names no parameter", "nothing of that path"
    )
    raise Unresolved


def _walk_settled(body: Body, part: model.What, rest: tuple[str, ...], expr: tree.Expr) -> Shape:
    match part:
        case model.Leaf():
            return _walk(body, part, rest, expr)
        case model.Instance(block) if rest:
            made = body.blocks.classes[block]
            inner = next((p.what for p in made.parts if p.name == rest[0]), None)
            if inner is not None:
                return _walk_settled(body, inner, rest[1:], expr)
        case model.Chain(items) | model.PartList(items) if rest and rest[0].isdigit():
            return _walk_settled(body, items[int(rest[0]) % len(items)], rest[1:], expr)
        case _:
            pass
    body.report.error(
        "E0204", expr.span, f"`{expr.span.text}` names no parameter", "nothing of that path"
    )
    raise Unresolved


def _unknown(body: Body, expr: tree.Expr, name: str, names: list[str]) -> NoReturn:
    near = nearest(name, names)
    helps = [f"did you mean `{near}`?"] if near else []
    notes = [f"here: {', '.join(n for n in names if n)}"] if names else []
    body.report.error(
        "E0204", expr.span, f"unknown part `{name}`", "not defined here", notes=notes, helps=helps
    )
    raise Unresolved
