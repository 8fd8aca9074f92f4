"""Texts of specs for property tests: made by the grammar, and broken by hand."""

from __future__ import annotations

import re
from random import Random

from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark

from specc.resources import grammar_text

_NAMES = ("B", "S", "d", "heads", "hd", "x", "y", "blocks", "Linear", "norm", "dp")
_NUMBERS = ("1", "4096", "64K", "1e-5", "0.5", "10min")


def _terminals() -> dict[str, st.SearchStrategy[str]]:
    """For each terminal what it may be, with the space behind words that keeps them apart."""
    made = {
        "NAME": st.sampled_from(_NAMES).map("{} ".format),
        "NUMBER": st.sampled_from(_NUMBERS).map("{} ".format),
        "STRING": st.sampled_from(('"data/*.bin"', '"a \\"b\\""', '""')),
        "VERB": st.sampled_from(("precision ", "recompute ", "init ", "optimize ")),
        "CMP": st.sampled_from(("==", "!=", "<=", ">=", "<", ">")),
        "_NL": st.sampled_from(("\n", "\n\n", "  # why\n", "\r\n")),
        "COMMENT": st.just(""),
        "_CONT": st.just(""),
        "_WS": st.sampled_from(("", " ", "\t")),
    }
    for name, word in re.findall(r"^(\w+)\.2: /(\w+)\\b/$", grammar_text(), re.MULTILINE):
        made[name] = st.just(f"{word} ")
    return made


DECLARATIONS = ("dims", "block", "model", "extern", "mesh", "layout", "train", "profile")
"""Rules of the grammar whose text is a file by itself."""


def _made_by(grammar: Lark, start: str) -> st.SearchStrategy[str]:
    """Texts of one rule; the strategies of terminals that it does not use are left out."""
    used = {terminal.name for terminal in grammar.grammar.compile([start], ())[0]}
    explicit = {name: strategy for name, strategy in _terminals().items() if name in used}
    return from_lark(grammar, start=start, explicit=explicit)


def specs() -> st.SearchStrategy[str]:
    """Texts that the grammar makes."""
    grammar = Lark(grammar_text(), parser="lalr", lexer="contextual")
    return st.one_of([_made_by(grammar, start) for start in ("start", *DECLARATIONS)])


PIECES = (
    *"{}()[],:=.;#\"'\\+-*/%<>\n\r\t @&!?0",
    *("->", "..", "==", "**", "//", ":=", " and ", ".5", "5.", "1_", "007", "4d", "8B", "1e999"),
    *("dim ", "model ", "layout {", "train {", "return ", "tie ", "repeat ", " as ", "each "),
    *(
        "，",
        "：",
        "（",
        "）",
        "“",
        "”",
        "＃",
        "　",
        "→",
        "层",
        "α",
        "\0",
        "\u200b",
        "\u202e",
        "\ud800",
    ),
    "9" * 40,
    "(" * 70,
    " + 1" * 210,
)
"""What mutations put into a text: signs, halves of words, and what has no place in a spec."""


def mutated(rng: Random, text: str) -> str:
    """The text with some pieces put in, taken out, moved or replaced."""
    if rng.random() < 0.3:
        start = rng.randrange(len(text))
        text = text[start : start + rng.randrange(1, 400)]
    for _ in range(rng.choice((1, 1, 2, 3, 8, 30))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 0, 1, 1, 2, 5, 20)))
        other = rng.randrange(len(text) + 1)
        piece = rng.choice(
            (rng.choice(PIECES), "", chr(rng.randrange(0x3000)), text[other : other + 30])
        )
        text = text[:start] + piece + text[end:]
    return text
