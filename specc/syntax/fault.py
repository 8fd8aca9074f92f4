"""A statement that does not parse, as the rules that explain it see it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from lark import Tree

from specc.syntax.attempt import attempt
from specc.syntax.patch import Cut, patched
from specc.syntax.scan import CLOSERS, OPENERS, Lexeme
from specc.syntax.units import Unit
from specc.syntax.words import Kind


@attrs.frozen
class Way:
    """A way out.

    Args:
        cuts: what to change for it; none for a way that only words can say.
        start: where the text to try it on begins, if before the statement.
        is_guess: whether something else may be meant, even if the statement then parses.
    """

    text: str
    cuts: tuple[Cut, ...] = ()
    start: int | None = None
    is_guess: bool = False


@attrs.frozen
class Finding:
    """What a rule has to say about a fault.

    Args:
        first, last: the lexemes of the statement that it points at; the fault's own for None.
    """

    code: str
    title: str
    label: str
    first: int | None = None
    last: int | None = None
    notes: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()


@attrs.frozen
class Fault:
    """A statement and where its parse stopped.

    Args:
        text: of the file, as it was read.
        at: index of the lexeme that could not stand where it stands; their number at the end.
        accepts: terminals that could have stood there.
        before: the statement above it, if there is one.
        after: what follows the statement on its line, else nothing.
    """

    text: str
    unit: Unit
    at: int
    accepts: frozenset[str]
    before: Unit | None
    after: str

    @property
    def kind(self) -> Kind:
        """The place it stands in."""
        return self.unit.kind

    @property
    def lexemes(self) -> tuple[Lexeme, ...]:
        """The code of the statement."""
        return self.unit.lexemes

    def lexeme(self, offset: int) -> Lexeme | None:
        """The lexeme so many places from the fault, if there is one."""
        index = self.at + offset
        return self.lexemes[index] if 0 <= index < len(self.lexemes) else None

    def word(self, offset: int = 0) -> str:
        """Its text; nothing where there is none."""
        lexeme = self.lexeme(offset)
        return lexeme.text if lexeme else ""

    def kind_of(self, offset: int = 0) -> str:
        """Its kind; nothing where there is none."""
        lexeme = self.lexeme(offset)
        return lexeme.kind if lexeme else ""

    def touches(self, offset: int = 0) -> bool:
        """Whether it stands right behind the one before it."""
        here, left = self.lexeme(offset), self.lexeme(offset - 1)
        return here is not None and left is not None and left.end == here.start

    def first(self, index: int = 0) -> str:
        """The text of a lexeme counted from the start of the statement."""
        return self.lexemes[index].text if index < len(self.lexemes) else ""

    def insert(self, text: str) -> Cut:
        """Put a text behind what stands before the fault."""
        end = self.lexemes[self.at - 1].end if self.at else self.unit.start
        return Cut(end, end, text)

    def replace(self, index: int, text: str) -> Cut:
        """Put a text in place of a lexeme counted from the start of the statement."""
        return Cut(self.lexemes[index].start, self.lexemes[index].end, text)

    def works(self, *cuts: Cut, start: int | None = None) -> bool:
        """Whether the statement parses once it is changed.

        Args:
            start: where the text to try begins, if before the statement.
        """
        start = self.unit.start if start is None else start
        text = self.text[start : self.unit.end]
        moved = [Cut(cut.start - start, cut.end - start, cut.text) for cut in cuts]
        return isinstance(attempt(patched(text, moved).text, self.kind), Tree)

    def at_top(self, sign: str) -> int | None:
        """Index of the first lexeme with this text outside all brackets."""
        depth = 0
        for index, lexeme in enumerate(self.lexemes):
            if depth == 0 and lexeme.text == sign:
                return index
            if lexeme.kind == "sign":
                depth += (lexeme.text in OPENERS) - (lexeme.text in CLOSERS)
        return None


Rule = Callable[[Fault], Finding | None]
"""Knows one kind of mistake."""
