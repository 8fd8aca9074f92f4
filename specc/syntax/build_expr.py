"""Typed nodes of expressions, shapes and types."""

from __future__ import annotations

from lark import Token

from specc.source import Span
from specc.syntax import tree
from specc.syntax.counts import check_count
from specc.syntax.literals import number_of, text_of
from specc.syntax.made import Kids, Make, Maker, nodes, word


def _name(maker: Maker, kids: Kids, _span: Span) -> tree.Name:
    return maker.name(kids[0])


def number(maker: Maker, token: Token) -> tree.Number:
    """The value of a number token; what is wrong with it goes into the report."""
    return number_of(str(token), maker.place(token), maker.report)


def text(maker: Maker, token: Token) -> tree.Text:
    """The value of a string token; what is wrong with it goes into the report."""
    return text_of(str(token), maker.place(token), maker.report)


def _number(maker: Maker, kids: Kids, _span: Span) -> tree.Number:
    return number(maker, kids[0])


def _string(maker: Maker, kids: Kids, _span: Span) -> tree.Text:
    return text(maker, kids[0])


def _negate(_maker: Maker, kids: Kids, span: Span) -> tree.Negate:
    return tree.Negate(kids[1], span)


def _binary(_maker: Maker, kids: Kids, span: Span) -> tree.Binary:
    left, op, right = kids
    return tree.Binary(str(op), left, right, span)


def _pipe(_maker: Maker, kids: Kids, span: Span) -> tree.Pipe | tree.As:
    left, _, right = kids
    if isinstance(right, tree.As):
        # `x -> f as [..]` rearranges what f gives.
        piped = tree.Pipe(left, right.operand, left.span.to(right.operand.span))
        return tree.As(piped, right.shape, span)
    return tree.Pipe(left, right, span)


def _as(_maker: Maker, kids: Kids, span: Span) -> tree.As:
    operand, _, shape = kids
    return tree.As(operand, shape, span)


def _attribute(maker: Maker, kids: Kids, span: Span) -> tree.Attribute:
    base, _, name = kids
    return tree.Attribute(base, str(name), span, maker.place(name))


def _call(_maker: Maker, kids: Kids, span: Span) -> tree.Call:
    function, *rest = kids
    return tree.Call(function, arguments(nodes(rest)), span)


def arguments(given: tuple[tree.Argument | tree.Expr, ...]) -> tuple[tree.Argument, ...]:
    """Arguments of a call, where a bare expression is a positional one."""
    return tuple(
        each if isinstance(each, tree.Argument) else tree.Argument(None, each, each.span)
        for each in given
    )


def _named_argument(maker: Maker, kids: Kids, span: Span) -> tree.Argument:
    name, _, value = kids
    return tree.Argument(str(name), value, span, maker.place(name))


def _item(_maker: Maker, kids: Kids, span: Span) -> tree.Item:
    base, *rest = kids
    return tree.Item(base, nodes(rest), span)


def _range(_maker: Maker, kids: Kids, span: Span) -> tree.Range:
    first, _, last = kids
    return tree.Range(first, last, span)


def _every(_maker: Maker, _kids: Kids, span: Span) -> tree.Every:
    return tree.Every(span)


def _repeat(maker: Maker, kids: Kids, span: Span) -> tree.Repeat:
    _, count, _, index, body = kids
    check_count(count, maker.report)
    return tree.Repeat(count, word(index), body, span)


def _count(maker: Maker, kids: Kids, span: Span) -> tree.Expr:
    if len(kids) == 3:
        return tree.Group(kids[1], span)
    return number(maker, kids[0]) if kids[0].type == "NUMBER" else maker.name(kids[0])


def _group(_maker: Maker, kids: Kids, span: Span) -> tree.Group:
    return tree.Group(kids[1], span)


def _list(maker: Maker, kids: Kids, span: Span) -> tree.ListOf:
    items = nodes(kids)
    others = next((each for each in items if isinstance(each, tree.Others)), None)
    if others is not None:
        maker.open_lists[span.start] = others
    return tree.ListOf(items, span)


def _others(_maker: Maker, _kids: Kids, span: Span) -> tree.Others:
    return tree.Others(span)


def _shape(maker: Maker, kids: Kids, span: Span) -> tree.Shape:
    entries: tuple[tree.Expr | tree.Others, ...] = nodes(kids)
    for entry in entries:
        check_count(entry, maker.report)
    return tree.Shape(entries, span)


def _type(_maker: Maker, kids: Kids, span: Span) -> tree.Type:
    dtype, shape = kids
    return tree.Type(word(dtype), shape, span)


EXPRESSIONS: dict[str, Make] = {
    "name": _name,
    "number": _number,
    "string": _string,
    "neg": _negate,
    "prod": _binary,
    "sum": _binary,
    "cmp": _binary,
    "pipe": _pipe,
    "view": _as,
    "attr": _attribute,
    "call": _call,
    "kwarg": _named_argument,
    "item": _item,
    "range": _range,
    "every": _every,
    "repeat": _repeat,
    "count": _count,
    "group": _group,
    "list": _list,
    "others": _others,
    "shape": _shape,
    "type": _type,
}
