"""The lines of a text and how deep each of them lies."""

from __future__ import annotations

from collections.abc import Container, Sequence

import attrs

from specc.syntax.brackets import MAX_DEPTH
from specc.syntax.scan import CLOSERS, CONTINUES, OPENERS, Lexeme
from specc.syntax.words import DECLARATIONS, PLACES, Kind, kind_inside

INDENT = 2


_NOTHING = Lexeme("newline", 0, "\n")


@attrs.frozen
class Line:
    """One line of a text.

    Args:
        first: index of its first lexeme among the code of the text.
        code: its lexemes without white space and comments.
        comment: the comment at its end, or the whole of it.
        is_at_left: whether its code begins in the first column.
        indent: spaces before it.
        kind: of the place whose statement begins on it; None where none begins.
        gaps: what stands before each lexeme, the first one excepted.
    """

    first: int
    code: tuple[Lexeme, ...]
    comment: str
    is_at_left: bool = False
    indent: int = 0
    kind: Kind | None = None
    gaps: tuple[str, ...] = ()
    comment_gap: str = "  "

    @property
    def is_blank(self) -> bool:
        """Whether nothing stands on it."""
        return not self.code and not self.comment

    @property
    def code_text(self) -> str:
        """Indentation and code."""
        pieces = [
            gap + lexeme.text for gap, lexeme in zip(("", *self.gaps), self.code, strict=True)
        ]
        return "".join([" " * self.indent, *pieces])

    @property
    def text(self) -> str:
        """The whole line without its end."""
        if not self.code:
            return " " * self.indent * bool(self.comment) + self.comment
        return self.code_text + (self.comment_gap + self.comment if self.comment else "")


@attrs.frozen
class _Open:
    """A bracket that is open.

    Args:
        kind: of what it holds, for a brace whose statement is known.
        steps: 1 for the last bracket of its line, else 0: brackets of a line indent once.
    """

    sign: str
    line: int
    kind: Kind | None
    steps: int


def lines_of(lexemes: Sequence[Lexeme]) -> list[Line]:
    """The lines of a text, without indentation."""
    lines: list[Line] = []
    code: list[Lexeme] = []
    comment = ""
    num_code = line_start = 0
    for lexeme in (*lexemes, _NOTHING):
        match lexeme.kind:
            case "newline":
                is_at_left = bool(code) and code[0].start == line_start
                first = num_code - len(code)
                lines.append(Line(first, tuple(code), comment.rstrip(), is_at_left))
                code, comment, line_start = [], "", lexeme.end
            case "space":
                pass
            case "comment":
                comment = lexeme.text
            case _:
                code.append(lexeme)
                num_code += 1
    return lines


class Indenter:
    """Finds how deep lines lie, from the first to the last.

    Args:
        is_balanced: whether all brackets have partners; if not, a declaration in the first column
            closes all that is open.
    """

    def __init__(self, *, is_balanced: bool) -> None:
        self._is_balanced = is_balanced
        self._open: list[_Open] = []
        self._level = 0
        self._first_word = ""  # of the statement that is being read
        self._is_fresh = False  # whether the next lexeme begins a statement
        self._last = _NOTHING

    def indented(self, lines: Sequence[Line]) -> list[Line]:
        """The lines with their level and kind."""
        return [
            self._code_line(number, line) if line.code else self._comment_line(line, below)
            for number, (line, below) in enumerate(zip(lines, _code_below(lines), strict=True))
        ]

    def _comment_line(self, line: Line, below: Lexeme) -> Line:
        return self._placed(line, self._level + self._goes_on(below), None)

    def _code_line(self, number: int, line: Line) -> Line:
        first = line.code[0]
        if not self._is_balanced and line.is_at_left and first.text in DECLARATIONS:
            self._open.clear()
            self._level, self._last = 0, _NOTHING
        # As when faults are looked for: after a stray operator a declaration is one all the same.
        declares = line.is_at_left and not self._open and first.text in DECLARATIONS
        goes_on = self._goes_on(first) and not declares
        level = self._level + goes_on
        kind = None if goes_on or _is_sign(first, CLOSERS) else self._kind()
        self._is_fresh = kind is not None
        is_leading = True
        for lexeme in line.code:
            self._read(lexeme, number)
            is_leading = is_leading and _is_sign(lexeme, CLOSERS)
            level = self._level if is_leading else level
        self._last = line.code[-1]
        return self._placed(line, level, kind)

    def _placed(self, line: Line, level: int, kind: Kind | None) -> Line:
        return attrs.evolve(line, indent=INDENT * min(level, MAX_DEPTH), kind=kind)

    def _kind(self) -> Kind | None:
        """What stands in the innermost bracket; None for parentheses and unknown braces."""
        return self._open[-1].kind if self._open else "file"

    def _goes_on(self, first: Lexeme) -> bool:
        """Whether a line that begins like this goes on with the statement above."""
        kind, last = self._kind(), self._last
        if kind is None or last.kind != "sign" or last.text in OPENERS:
            return first.text == "->" and kind is not None and last.kind not in {"newline", "sign"}
        if last.text == ",":
            return not PLACES[kind].has_commas
        return first.text == "->" or last.text in CONTINUES

    def _read(self, lexeme: Lexeme, number: int) -> None:
        if self._is_fresh:
            self._first_word, self._is_fresh = lexeme.text, False
        kind = self._kind()
        if _is_sign(lexeme, OPENERS):
            is_known_brace = lexeme.text == "{" and kind is not None
            inside = kind_inside(kind, self._first_word) if kind and is_known_brace else None
            if self._open and self._open[-1].line == number:
                self._level -= self._open[-1].steps
                self._open[-1] = attrs.evolve(self._open[-1], steps=0)
            self._open.append(_Open(lexeme.text, number, inside, steps=1))
            self._level += 1
            self._is_fresh = inside is not None
        elif _is_sign(lexeme, CLOSERS):
            if self._open and self._open[-1].sign == CLOSERS[lexeme.text]:
                self._level -= self._open.pop().steps
        elif lexeme.text == ";" or (lexeme.text == "," and kind and PLACES[kind].has_commas):
            self._is_fresh = True


def _is_sign(lexeme: Lexeme, signs: Container[str]) -> bool:
    return lexeme.kind == "sign" and lexeme.text in signs


def _code_below(lines: Sequence[Line]) -> list[Lexeme]:
    """For each line, the first lexeme of the next line with code."""
    below: list[Lexeme] = []
    next_code = _NOTHING
    for line in reversed(lines):
        below.append(next_code)
        next_code = line.code[0] if line.code else next_code
    return below[::-1]
