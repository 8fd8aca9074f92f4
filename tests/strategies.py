"""Texts of specs for property tests: made by the grammar, and broken by hand."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

import attrs
from hypothesis import strategies as st
from lark import Lark
from lark.grammar import NonTerminal, Symbol, Terminal

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


BUDGET = 120  # choices between expansions; after them each rule takes its shortest one


@attrs.frozen
class _Rules:
    """Rules of the grammar: for each its expansions, the one that ends soonest first."""

    expansions: dict[Symbol, list[Sequence[Symbol]]]
    terminals: dict[Symbol, st.SearchStrategy[str]]


def _rules(grammar: Lark, start: str) -> _Rules:
    terminals, rules, _ = grammar.grammar.compile([start], ())
    texts: dict[Symbol, st.SearchStrategy[str]] = {
        Terminal(terminal.name): st.from_regex(terminal.pattern.to_regexp(), fullmatch=True)
        for terminal in terminals
    }
    texts |= {Terminal(name): made for name, made in _terminals().items()}
    expansions: dict[Symbol, list[Sequence[Symbol]]] = {}
    for rule in rules:
        expansions.setdefault(rule.origin, []).append(rule.expansion)
    depths: dict[Symbol, float] = dict.fromkeys(expansions, math.inf) | dict.fromkeys(texts, 0)

    def depth(expansion: Sequence[Symbol]) -> float:
        return 1 + max((depths[symbol] for symbol in expansion), default=0)

    for _ in expansions:  # a depth is known after at most as many rounds as there are rules
        depths |= {symbol: min(map(depth, found)) for symbol, found in expansions.items()}
    return _Rules({origin: sorted(found, key=depth) for origin, found in expansions.items()}, texts)


@attrs.frozen
class _Node:
    symbol: Symbol
    parts: list[_Node] = attrs.field(factory=list)

    def leaves(self) -> Iterator[Symbol]:
        if self.symbol.is_term:
            yield self.symbol
        for part in self.parts:
            yield from part.leaves()


@st.composite
def _texts(draw: st.DrawFn, rules: _Rules, start: str) -> str:
    """Texts of one rule, with space wherever the grammar ignores it.

    It grows level by level, so that the choices do not all go into its first expression.
    """
    root = _Node(NonTerminal(start))
    growing = deque([root])
    left = BUDGET
    while growing:
        node = growing.popleft()
        if node.symbol.is_term:
            continue
        ways = rules.expansions[node.symbol]
        is_chosen = len(ways) > 1 and left > 0
        left -= is_chosen
        way = draw(st.sampled_from(ways)) if is_chosen else ways[0]
        node.parts.extend(map(_Node, way))
        growing.extend(node.parts)
    space = _terminals()["_WS"]
    return "".join(draw(space) + draw(rules.terminals[leaf]) for leaf in root.leaves())


def specs() -> st.SearchStrategy[str]:
    """Texts that the grammar makes."""
    grammar = Lark(grammar_text(), parser="lalr", lexer="contextual")
    return st.one_of([_texts(_rules(grammar, start), start) for start in ("start", *DECLARATIONS)])


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
