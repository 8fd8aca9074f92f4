"""Hard limits have their own messages, and what lies within them can be walked by recursion."""

from __future__ import annotations

import attrs
import pytest

from specc.source import Source
from specc.syntax import tree
from specc.syntax.attempt import MAX_OPERATORS
from specc.syntax.brackets import MAX_DEPTH
from specc.syntax.parse import parse
from specc.syntax.read import MAX_BYTES
from specc.syntax.recover import MAX_FAULTS


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in parse(Source("a.spec", text))[1]]


def nested(opener: str, closer: str, depth: int) -> str:
    return opener * depth + "1" + closer * depth


def test_brackets_may_lie_64_deep() -> None:
    assert codes(f"let a = {nested('(', ')', MAX_DEPTH)}") == []
    assert codes(f"let a = {nested('[', ']', MAX_DEPTH)}") == []
    assert codes("mesh " + "{ a = 1 " * MAX_DEPTH + "}" * MAX_DEPTH) == []


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1000, 100_000])
@pytest.mark.parametrize("closer", [")", ""])
def test_deeper_brackets_cost_their_declaration_and_no_other(depth: int, closer: str) -> None:
    text = f"dim d = 1\nlet a = {nested('(', closer, depth)}\ndim e = 2\n"
    file, (diagnostic,) = parse(Source("a.spec", text))
    assert diagnostic.code == "E0118"
    assert diagnostic.title == "brackets lie more than 64 deep in each other"
    assert diagnostic.labels[0].text == "level 65"
    assert [declaration.span.text for declaration in file.declarations] == ["d = 1", "e = 2"]
    assert file.poisoned == {"a"}


CHAINS = {
    "sum": ("1", " + 1"),
    "pipe": ("x", " -> f"),
    "call": ("f", "(1)"),
    "attribute": ("a", ".b"),
    "index": ("a", "[0]"),
    "shape": ("a", " as [b]"),
}


@pytest.mark.parametrize(("first", "link"), CHAINS.values(), ids=CHAINS)
def test_expressions_may_have_200_operators_in_one_another(first: str, link: str) -> None:
    assert codes(f"let a = {first}{link * MAX_OPERATORS}") == []


@pytest.mark.parametrize("count", [MAX_OPERATORS + 1, 1000])
@pytest.mark.parametrize(("first", "link"), CHAINS.values(), ids=CHAINS)
def test_longer_expressions_cost_their_statement(first: str, link: str, count: int) -> None:
    expression = first + link * count
    text = f"block A() -> [] {{\n  y = {expression}\n  return x\n}}\n"
    file, (diagnostic,) = parse(Source("a.spec", text))
    assert diagnostic.code == "E0119"
    assert diagnostic.title == "this expression has more than 200 operators in one another"
    assert diagnostic.labels[0].span.text == expression
    (block,) = file.declarations
    assert isinstance(block, tree.Block)
    assert len(block.body) == 1
    assert file.poisoned == {"y"}


def test_signs_count_as_operators() -> None:
    assert codes("let a = " + "-" * MAX_OPERATORS + "1") == []
    assert codes("let a = " + "-" * (MAX_OPERATORS + 1) + "1") == ["E0119"]


def test_a_long_list_is_not_deep() -> None:
    assert codes("let a = [" + "1 + 1, " * 2000 + "]") == []


def test_the_deepest_tree_can_be_compared_shown_and_hashed() -> None:
    text = "let a = " + nested("(", ")", MAX_DEPTH) + " + 1" * (MAX_OPERATORS - MAX_DEPTH)
    (left, _), (right, _) = parse(Source("a", text)), parse(Source("b", text))
    assert left.declarations == right.declarations
    assert hash(left.declarations) == hash(right.declarations)
    assert repr(left.declarations)
    assert attrs.asdict(left.declarations[0])


def test_a_larger_text_is_not_read() -> None:
    file, (diagnostic,) = parse(Source("a.spec", "#" * (MAX_BYTES + 1)))
    assert file.declarations == ()
    assert (diagnostic.code, diagnostic.title) == ("E0117", "this file is larger than 2 MB")


def test_a_list_of_faults_ends() -> None:
    _, diagnostics = parse(Source("a.spec", "let a 1\n" * 500))
    assert len(diagnostics) == MAX_FAULTS + 1
    assert {diagnostic.code for diagnostic in diagnostics[:-1]} == {"E0101"}
    assert diagnostics[-1].code == "E0128"
    assert diagnostics[-1].title == "more than 100 faults: this one and what follows are not shown"
    assert diagnostics[-1].labels[0].span.line == MAX_FAULTS + 1


def test_names_of_what_is_not_looked_at_are_poisoned() -> None:
    file, _ = parse(Source("a.spec", "let a 1\n" * 500 + "dim last = 3\n"))
    assert file.poisoned == {"a", "last"}
