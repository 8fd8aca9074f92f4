"""Whatever the text: it is read or reported, with linear work; its format changes no meaning."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings

from specc.diagnostics import Diagnostic
from specc.source import Source
from specc.syntax import tree
from specc.syntax.format import format_text
from specc.syntax.parse import parse
from tests.strategies import mutated, specs

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("specs/**/*.spec"))]

# What the grammar leaves open and a text made by it may get wrong: units, editions, places.
OPEN = {"E0106", "E0108", "E0109", "E0123", "E0124", "E0125", "E0127"}

quickly = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
at_length = settings(quickly, max_examples=400)


def read(text: str) -> tuple[tree.File, tuple[Diagnostic, ...]]:
    return parse(Source("a.spec", text))


def check_made_text(text: str) -> None:
    file, diagnostics = read(text)
    assert {diagnostic.code for diagnostic in diagnostics} <= OPEN
    assert file.poisoned == file.incomplete == frozenset()
    formatted = format_text(text)
    assert format_text(formatted) == formatted
    assert read(formatted)[0].declarations == file.declarations


@quickly
@given(specs())
def test_what_the_grammar_makes_parses_and_keeps_its_meaning_when_formatted(text: str) -> None:
    check_made_text(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@at_length
@given(specs())
def test_much_of_what_the_grammar_makes_parses(text: str) -> None:
    check_made_text(text)


# ---------------------------------------------------------------------------------- broken texts


def check_broken_text(text: str) -> float:
    """Seconds of processor time that reading took."""
    start = time.process_time()
    file, diagnostics = read(text)
    seconds = time.process_time() - start
    assert repr(file.declarations)
    for diagnostic in diagnostics:
        places = [label.span for label in diagnostic.labels]
        assert places
        places += [edit.span for way in diagnostic.helps for edit in way.edits]
        assert all(0 <= place.start <= place.end <= len(text) for place in places)
    return seconds


def check_format_of_broken_text(text: str) -> None:
    formatted = format_text(text)
    assert format_text(formatted) == formatted
    # Brackets that do not balance are matched by indentation, so only whole texts keep their tree.
    file, diagnostics = read(text)
    if not any(diagnostic.code in {"E0102", "E0118", "E0128"} for diagnostic in diagnostics):
        assert read(formatted)[0].declarations == file.declarations


def broken(seed: int) -> str:
    rng = Random(seed)  # noqa: S311  the same texts every time
    return mutated(rng, rng.choice(TEXTS))


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_broken_texts_are_read_without_an_exception(first: int) -> None:
    for seed in range(first, first + 50):
        check_broken_text(broken(seed))


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_the_format_of_broken_texts_is_stable(first: int) -> None:
    for seed in range(first, first + 50):
        check_format_of_broken_text(broken(seed))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_broken_texts_are_read_without_an_exception_in_a_second() -> None:
    for seed in range(1000, 11_000):
        text = broken(seed)
        assert check_broken_text(text) < 1, seed
        check_format_of_broken_text(text)


# -------------------------------------------------------------------------------------- growth

GROWING: dict[str, Callable[[int], str]] = {
    "lines": lambda n: "dim a = 1, b = a*2\n" * n,
    "faulty lines": lambda n: "let a 1\n" * n,
    "statements": lambda n: "model M() -> [] {\n" + "  x = f(x)\n" * n + "}\n",
    "faulty statements": lambda n: "model M() -> [] {\n" + "  x 1\n" * n + "}\n",
    "one faulty head": lambda n: "model M( -> [] {\n" + "  x = f(x)\n" * n + "}\n",
    "blank lines": lambda n: "\n" * 10 * n,
    "blank lines after an operator": lambda n: "let a = 1 +" + "\n" * 10 * n,
    "comments": lambda n: "# why\n" * n,
    "operators": lambda n: "let a = 1" + " + 1" * n,
    "pipes": lambda n: "let a = x" + " -> f" * n,
    "calls": lambda n: "let a = f" + "(1)" * n,
    "products of calls": lambda n: "let a = " + "f(g(x))*" * n + "1",
    "items": lambda n: "let a = [" + "1, " * n + "]",
    "nesting": lambda n: "let a = " + "(" * n + "1" + ")" * n,
    "openers": lambda n: "train { a = " + "(" * n,
    "openers on lines": lambda n: "(\n" * n,
    "closers": lambda n: ")" * n,
    "unclosed brackets": lambda n: "train { a = (1 }\n" * n,
    "quotes": lambda n: '"\n' * n,
    "words": lambda n: "as " * n,
    "full-width signs": lambda n: "，\n" * n,
    "foreign words": lambda n: "层 " * n,
    "control characters": lambda n: "\0" * n,
    "escapes": lambda n: 'let a = "' + "\\q" * n + '"',
}


def calls(action: Callable[[str], object], text: str) -> int:
    """Calls of functions, Python's and C's: what an action does, whatever else the machine does."""
    count = 0

    def see(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        action(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("action", [read, format_text], ids=["read", "format"])
@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING)
def test_work_grows_with_the_text_and_not_faster(
    make: Callable[[int], str], action: Callable[[str], object]
) -> None:
    small, large = calls(action, make(100)), calls(action, make(400))
    # Four times the text: linear work makes 4 times the calls, quadratic work 16 times.
    assert large < 5 * small
