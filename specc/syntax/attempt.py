"""Tries to parse a piece of text, and says what stood in the way."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import attrs
from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from specc.syntax.grammar import parser
from specc.syntax.made import present
from specc.syntax.words import PLACES, Kind

MAX_OPERATORS = 200
"""Operators in one another in one expression: every later stage may then walk it by recursion."""

_OPERATORS = frozenset(
    {"pipe", "cmp", "sum", "prod", "neg", "repeat", "view", "attr", "call", "item", "group", "list"}
)


@attrs.frozen
class Refusal:
    """A token that could not stand where it stands.

    Args:
        start: its offset; the length of the text where that ended too early.
        accepts: terminals of the grammar that could have stood there.
    """

    start: int
    accepts: frozenset[str]


@attrs.frozen
class TooLong:
    """An expression with more than `MAX_OPERATORS` operators in one another."""

    start: int
    end: int


def attempt(text: str, kind: Kind) -> Tree[Token] | Refusal | TooLong:
    """The parse of statements of a kind, or the first thing that stands in its way.

    The tree of anything but a file begins with the frame, so its offsets are not those of `text`.
    """
    frame = PLACES[kind].frame
    framed = f"{frame}{text}\n}}" if frame else text
    lark: Any = parser()
    try:
        raw: Tree[Token] = lark.parse(framed)
    except UnexpectedToken as stop:
        unexpected: Any = stop.token
        at: int = len(framed) if unexpected.type == "$END" else unexpected.start_pos
        accepts = _accepts(framed, at)
    except UnexpectedCharacters as stop:
        at, accepts = cast("int", stop.pos_in_stream), frozenset(stop.allowed)
    else:
        return _too_long(raw, len(frame)) or raw
    return Refusal(min(max(at - len(frame), 0), len(text)), accepts)


def _accepts(text: str, at: int) -> frozenset[str]:
    """What could stand at a place.

    The state in which a parse fails knows less: what stands before the place is reduced by then, on
    the ground that the unexpected token may follow it somewhere else.
    """
    lark: Any = parser()
    steps = lark.parse_interactive(text)
    with suppress(UnexpectedInput):
        for each in steps.iter_parse():
            if each.start_pos >= at:
                break
    return frozenset(steps.accepts())


def _too_long(raw: Tree[Token], frame: int) -> TooLong | None:
    """The first expression that holds too many operators in one another."""
    waiting: list[tuple[Tree[Token], int, Tree[Token]]] = [(raw, 0, raw)]
    while waiting:
        node, depth, outermost = waiting.pop()
        if node.data in _OPERATORS:
            outermost = outermost if depth else node
            depth += 1
        if depth > MAX_OPERATORS:
            start, end = _edge(outermost, 0).start_pos, _edge(outermost, -1).end_pos
            return TooLong(cast("int", start) - frame, cast("int", end) - frame)
        waiting += [(kid, depth, outermost) for kid in node.children if isinstance(kid, Tree)]
    return None


def _edge(node: Tree[Token], side: int) -> Token:
    """The first (0) or last (-1) token of an expression."""
    kid: Tree[Token] | Token = node
    while isinstance(kid, Tree):
        kid = present(kid)[side]
    return kid
