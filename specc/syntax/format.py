"""The format of specs: sets white space, and nothing else, whether the text parses or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from specc.syntax.align import align
from specc.syntax.brackets import is_balanced
from specc.syntax.lines import Indenter, Line, lines_of
from specc.syntax.scan import CLOSERS, Lexeme, code_of, scan
from specc.syntax.spacing import spacing


def format_text(text: str) -> str:
    """The text in the one format that specs have; formatting it again changes nothing.

    Lines stay lines: indentation, space inside of lines, blank lines and line ends change.
    """
    lexemes = scan(text)
    code = code_of(lexemes)
    lines = Indenter(is_balanced=is_balanced(code)).indented(lines_of(lexemes))
    lines = align(_spaced(lines, code))
    end = next((lexeme.text for lexeme in lexemes if lexeme.kind == "newline"), "\n")
    formatted = "".join(_ended(line.text, end) for line in _without_extra_blanks(lines))
    assert _meaning(code) == _meaning(code_of(scan(formatted))), "only white space may change"
    return formatted


def _spaced(lines: Sequence[Line], code: Sequence[Lexeme]) -> list[Line]:
    """The lines with the space between their lexemes."""
    between = spacing(code, frozenset(line.first for line in lines if line.code))
    return [
        attrs.evolve(
            line,
            gaps=tuple(
                between.gap(index) for index in range(line.first + 1, line.first + len(line.code))
            ),
        )
        for line in lines
    ]


def _without_extra_blanks(lines: Sequence[Line]) -> Iterator[Line]:
    """At most one blank line in a row, none at either end of the text or of braces."""
    blank: Line | None = None
    above: Line | None = None
    for line in lines:
        if line.is_blank:
            blank = line
            continue
        opens = above is None or (bool(above.code) and above.code[-1].text in {"{", "(", "["})
        closes = bool(line.code) and line.code[0].text in CLOSERS
        if blank is not None and not opens and not closes:
            yield blank
        blank = None
        yield line
        above = line


def _ended(line: str, end: str) -> str:
    # A stray carriage return at the end of a line must not become part of the line end.
    return f"{line} {end}" if line.endswith("\r") else line + end


def _meaning(code: Sequence[Lexeme]) -> list[tuple[str, str]]:
    return [(lexeme.kind, lexeme.text) for lexeme in code]
