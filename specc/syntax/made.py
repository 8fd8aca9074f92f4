"""What the functions that make typed nodes share: places, findings and the picking of children."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from lark import Token, Tree

from specc.diagnostics import Report
from specc.source import Source, Span
from specc.syntax import tree

Raw: TypeAlias = "Tree[Token] | Token"
# What stands in a rule, in order: its tokens, None for an optional part that is absent, and what
# was made of its sub-rules. The rule fixes which is which, so each maker unpacks it by position.
Kids: TypeAlias = "list[Any]"
Make: TypeAlias = "Callable[[Maker, Kids, Span], object]"
Origin: TypeAlias = "Callable[[int], int]"
T = TypeVar("T")


class Maker:
    """Gives nodes their places and collects what is wrong with them.

    Args:
        origin: where in the source a place of the parsed text comes from.

    Attributes:
        open_lists: by their start, lists that hold a `..` and are not yet known to be shapes.
    """

    def __init__(self, source: Source, origin: Origin) -> None:
        self.source = source
        self.origin = origin
        self.report = Report()
        self.open_lists: dict[int, tree.Others] = {}

    def span(self, start: int, end: int) -> Span:
        """The place of a range of the parsed text."""
        return Span(self.source, self.origin(start), self.origin(end))

    def place(self, token: Token) -> Span:
        """The place of a token."""
        start = token.start_pos or 0
        return self.span(start, start + len(token))

    def name(self, token: Token) -> tree.Name:
        """A token as a name of its own."""
        return tree.Name(str(token), self.place(token))

    def close_lists(self) -> None:
        """Report every `..` in what turned out to be a list of values."""
        for others in self.open_lists.values():
            self.report.error(
                "E0123",
                others.span,
                "`..` stands for dims, so it belongs into a shape",
                "in a list of values",
                notes=("shapes stand in signatures, after `as`, and in `name: [..] = value`",),
            )

    def names(self, kids: Kids) -> tuple[tree.Name, ...]:
        """The names among `kids`."""
        return tuple(self.name(kid) for kid in tokens(kids) if kid.type == "NAME")


def present(node: Tree[Token]) -> list[Raw]:
    """The children of a node, without the optional ones that are absent."""
    kids: list[Raw | None] = [*node.children]
    return [kid for kid in kids if kid is not None]


def tokens(kids: Kids) -> list[Token]:
    """The tokens among `kids`."""
    return [kid for kid in kids if isinstance(kid, Token)]


def nodes(kids: Kids) -> tuple[Any, ...]:
    """What is neither punctuation nor absent among `kids`."""
    return tuple(kid for kid in kids if kid is not None and not isinstance(kid, Token))


def word(token: Token | None) -> str | None:
    """The text of an optional name."""
    return None if token is None else str(token)


def or_empty(items: tuple[T, ...] | None) -> tuple[T, ...]:
    """The items of an optional list."""
    return () if items is None else items
