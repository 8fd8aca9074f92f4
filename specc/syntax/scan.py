"""Cuts the text of a spec into lexemes: all of it, whether it parses or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# What stands for `"` in other languages, in typeset text and on full-width keyboards.
_QUOTES = r"'\u2018-\u201f\uff02\uff07"
# The rest of a line; a carriage return alone ends none.
_LINE = r"(?:[^\r\n]|\r(?!\n))*"
# The same up to its last character that is not blank: what formatting may add stays outside.
_WORDS = r"(?:[ \t\r]*[^ \t\r\n])*"
_LEXEME = re.compile(
    r"""
      (?P<newline>\r?\n)
    | (?P<space>[ \t]+)
    | (?P<comment>\#LINE)
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<open_string>"WORDS)
    | (?P<number>[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_]*)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>->|==|!=|<=|>=|\.\.|[-+*/%<>=:.,;(){}\[\]])
    | (?P<quoted>[QUOTES][^\r\n"QUOTES]*[QUOTES])
    | (?P<wide_comment>\uff03WORDS)
    | (?P<odd>.)
    """.replace("QUOTES", _QUOTES)
    .replace("LINE", _LINE)
    .replace("WORDS", _WORDS),
    re.VERBOSE | re.DOTALL,
)

BLANK = frozenset({"newline", "space", "comment"})
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")": "(", "]": "[", "}": "{"}
# A line that ends in one of these goes on; so does one before a line that starts with `->`.
CONTINUES = frozenset(
    {"(", "[", "{", ",", "->", "+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">="}
)


class Lexeme(NamedTuple):
    """A piece of text and what it looks like.

    Attributes:
        kind: a group of the expression above; `name`, `number`, `string` and `sign` are what the
            language knows, `foreign` is a word with letters beyond ASCII.
        start: offset of the first character.
    """

    kind: str
    start: int
    text: str

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


def scan(text: str) -> list[Lexeme]:
    """All lexemes in order; together they are the text."""
    lexemes: list[Lexeme] = []
    for match in _LEXEME.finditer(text):
        kind = match.lastgroup or "odd"
        if kind == "name" and not match[0].isascii():
            kind = "foreign"
        lexemes.append(Lexeme(kind, match.start(), match[0]))
    return lexemes


def code_of(lexemes: Iterable[Lexeme]) -> list[Lexeme]:
    """The lexemes that are neither white space nor comments."""
    return [lexeme for lexeme in lexemes if lexeme.kind not in BLANK]


def line_heads(lexemes: Sequence[Lexeme]) -> list[tuple[int, int]]:
    """For each line that holds code: the index of its first such lexeme, and its indentation."""
    heads: list[tuple[int, int]] = []
    fresh, indent = True, 0
    for index, lexeme in enumerate(lexemes):
        if lexeme.kind == "newline":
            fresh, indent = True, 0
        elif fresh and lexeme.kind == "space":
            indent = len(lexeme.text)
        elif fresh and lexeme.kind != "comment":
            heads.append((index, indent))
            fresh = False
    return heads
