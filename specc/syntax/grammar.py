"""The parser that Lark makes of the grammar, kept compiled in the user's cache folder."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Token
from lark.lark import PostLex

from specc.resources import grammar_text

_OPENERS = frozenset({"LPAR", "LSQB"})
_CLOSERS = frozenset({"RPAR", "RSQB"})
# After these a line goes on: nothing that ends in one of them is a statement.
_OPEN_ENDED = frozenset({"LBRACE", "COMMA", "_ARROW", "CMP", "ADD", "MUL", "STAR", "MINUS", "_NL"})


class LineEnds(PostLex):
    """Keeps only the line ends that end a statement; a `;` always does."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The tokens without line ends in ( ) and [ ], after operators, and repeated."""
        depth = 0
        previous = "_NL"
        for each in stream:
            if each.type in _OPENERS:
                depth += 1
            elif each.type in _CLOSERS:
                depth -= 1
            elif each.type == "_NL" and each != ";" and (depth > 0 or previous in _OPEN_ENDED):
                continue
            previous = each.type
            yield each


@cache
def parser() -> Lark:
    """The parser, from the cache where that holds the same grammar, else made anew and kept."""
    grammar = grammar_text()
    kept: Any = Lark
    place = _cache_file(grammar)
    if place is not None:
        # Whatever is wrong with the file (absent, cut off, not ours), a new parser replaces it.
        with suppress(Exception):
            return kept.load(io.BytesIO(place.read_bytes()))
    made = make_parser(grammar)
    if place is not None:
        # A folder that cannot be written costs a tenth of a second at each start, nothing else.
        with suppress(OSError):
            _keep(made, place)
    return made


def make_parser(grammar: str, *, strict: bool = False) -> Lark:
    """A parser of the grammar.

    Args:
        strict: refuse every conflict and collision of terminals; needs the package interegular.
    """
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        postlex=LineEnds(),
        keep_all_tokens=True,
        strict=strict,
    )


def _cache_file(grammar: str) -> Path | None:
    key = f"{lark.__version__}\0{sys.version}\0{grammar}"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ".cache" / "specc" / f"grammar-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _keep(made: Lark, place: Path) -> None:
    lark: Any = made
    place.parent.mkdir(parents=True, exist_ok=True)
    # Ranks start at the same time: each writes a file of its own, and the last one to finish wins.
    handle, name = tempfile.mkstemp(dir=place.parent)
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            lark.save(file)
        written.replace(place)
    finally:
        written.unlink(missing_ok=True)
