"""Says in words what could have stood in the place of a token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specc.syntax.words import VERBS

_SIGNS = {
    "COMMA": ",",
    "COLON": ":",
    "EQUAL": "=",
    "_ARROW": "->",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "LBRACE": "{",
    "RBRACE": "}",
    "DOT": ".",
    "DOTS": "..",
    "STAR": "*",
    "MINUS": "-",
}
_KINDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string in double quotes",
    "CMP": "a comparison",
    "ADD": "`+`",
    "MUL": "`*`",
    "_NL": "end of line",
    "$END": "end of line",
}
_VALUE = frozenset({"NAME", "NUMBER", "STRING", "LPAR", "LSQB"})
_INFIX = frozenset({"_ARROW", "CMP", "ADD", "MUL", "STAR", "MINUS", "DOT", "LPAR", "LSQB", "_AS"})
_MOST = 5
"""More alternatives than these help nobody."""


def keywords(accepts: Iterable[str]) -> list[str]:
    """The words among some terminals."""
    found: list[str] = []
    for terminal in accepts:
        if terminal == "VERB":
            found += VERBS
        elif terminal not in _SIGNS and terminal not in _KINDS:
            found.append({"_EDITION": "specc"}.get(terminal, terminal.strip("_").lower()))
    return sorted(found)


def expectation(accepts: frozenset[str]) -> str:
    """`` `,`, `}` or end of line ``: at most five ways to go on, signs first."""
    left = set(accepts)
    parts: list[str] = []
    if left >= _VALUE:
        left -= _VALUE | {"MINUS", "_REPEAT"}
        parts.append("a value")
    elif len(left & _INFIX) > 3:
        left -= _INFIX
    signs = [f"`{sign}`" for terminal, sign in _SIGNS.items() if terminal in left]
    words = [f"`{word}`" for word in keywords(left)]
    kinds = [kind for terminal, kind in _KINDS.items() if terminal in left]
    return either(list(dict.fromkeys([*parts, *signs, *words, *kinds]))[:_MOST])


def either(parts: Sequence[str]) -> str:
    """`a, b or c`."""
    return " or ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
