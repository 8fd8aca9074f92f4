"""Tries to parse a piece of text, and says what stood in the way."""

from __future__ import annotations

from typing import cast

import attrs
from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from specc.syntax.grammar import parser
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
    try:
        framed = f"{frame}{text}\n}}" if frame else text
        raw = parser().parse(framed)  # pyright: ignore[reportUnknownMemberType]
    except UnexpectedToken as stop:
        accepts = frozenset(stop.accepts or stop.expected)
        at = len(framed) if stop.token.type == "$END" else cast("int", stop.token.start_pos)
        return Refusal(min(max(at - len(frame), 0), len(text)), accepts)
    except UnexpectedCharacters as stop:
        return Refusal(min(stop.pos_in_stream - len(frame), len(text)), frozenset(stop.allowed))
    return _too_long(raw, len(frame)) or raw


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
        kid = [each for each in kid.children if each is not None][side]
    return kid
