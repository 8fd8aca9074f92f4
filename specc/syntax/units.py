"""Cuts a text whose brackets balance into declarations and statements, without the grammar."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from specc.syntax.scan import CLOSERS, CONTINUES, OPENERS, Lexeme
from specc.syntax.words import PLACES, Kind


@attrs.frozen
class Unit:
    """A declaration or a statement: what is reported, and left out, as a whole.

    Args:
        kind: the place it stands in.
        first, last: indices of its first and last lexeme in the file.
        lexemes: its code, without white space and comments.
    """

    kind: Kind
    first: int
    last: int
    lexemes: tuple[Lexeme, ...]

    @property
    def start(self) -> int:
        """Offset of the first character."""
        return self.lexemes[0].start

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.lexemes[-1].end


def units(lexemes: Sequence[Lexeme], kind: Kind, first: int, last: int) -> list[Unit]:
    """The statements among the lexemes from `first` to before `last`, all in one pair of braces."""
    found: list[Unit] = []
    members: list[int] = []
    depth = 0
    broken = True  # since the last code there was a line end
    line_start = 0
    has_value = False  # in `a, b = f(x), c = 1` only the second comma parts two settings
    has_commas = PLACES[kind].has_commas

    def close() -> None:
        nonlocal has_value
        if members:
            code = tuple(lexemes[index] for index in members)
            found.append(Unit(kind, members[0], members[-1], code))
        members.clear()
        has_value = False

    for index in range(first, last):
        lexeme = lexemes[index]
        if lexeme.kind == "newline":
            broken, line_start = True, lexeme.end
        if lexeme.kind in {"newline", "space", "comment"}:
            continue
        text = lexeme.text if lexeme.kind == "sign" else ""
        if broken and depth == 0 and members:
            before = lexemes[members[-1]]
            if not _goes_on(kind, before, lexeme, at_left=lexeme.start == line_start):
                close()
        broken = False
        if depth == 0 and (text == ";" or (text == "," and has_value and has_commas)):
            close()
            continue
        members.append(index)
        has_value = has_value or (depth == 0 and text in {"=", "{"})
        depth += (text in OPENERS) - (text in CLOSERS)
    close()
    return found


def _goes_on(kind: Kind, last: Lexeme, following: Lexeme, *, at_left: bool) -> bool:
    """Whether the statement that ends a line in `last` goes on with `following`."""
    if following.text == "->":
        return True
    if last.kind != "sign" or last.text not in CONTINUES:
        return False
    # After a stray operator or comma, what clearly is a new statement is not swallowed.
    begins = following.text in PLACES[kind].words and (at_left or kind != "file")
    return not begins


def body_range(lexemes: Sequence[Lexeme], unit: Unit) -> tuple[int, int] | None:
    """Indices of what lies in the braces of a unit; None where it has none."""
    opener = depth = 0
    for index in range(unit.first, unit.last + 1):
        lexeme = lexemes[index]
        if lexeme.kind != "sign" or lexeme.text not in "{}":
            continue
        if lexeme.text == "{":
            opener = opener if depth else index
            depth += 1
        elif depth == 1:
            return opener + 1, index
        else:
            depth -= 1
    return None
