"""`specc graph`: a tree, and the flow with shapes on its edges."""

from __future__ import annotations

import re
from pathlib import Path

from tests.checking import run_cli
from tests.unit.cli.conftest import LIBRARY


def drawn(*arguments: str) -> str:
    code, out, err = run_cli(["graph", *arguments])
    assert (code, err) == (0, ""), err
    return out


def test_a_tree_shows_a_block_below_its_first_use(specs: Path) -> None:
    lines = drawn("tinyllm.spec").splitlines()

    assert lines[0] == "TinyLLM(x: [B, S, d]) -> logits: [B, S, vocab]"
    assert lines[1:3] == ["  blocks  repeat depth Block", "    Block(x: [B, S, d]) -> [B, S, d]"]
    assert lines[-1] == "  head    Linear(d -> vocab)"


def test_every_node_of_a_flow_is_joined(specs: Path) -> None:
    out = drawn("tinyllm.spec", "--format", "mermaid")
    nodes = set(re.findall(r"^    (c\d+_\d+)[(\[]", out, re.MULTILINE))
    edges = re.findall(r'^    (c\d+_\d+) -->\|"(.*)"\| (c\d+_\d+)$', out, re.MULTILINE)

    assert out.startswith("flowchart TD\n  subgraph b0[")
    assert nodes == {end for first, _, last in edges for end in (first, last)}
    assert all(re.fullmatch(r"[a-z0-9]*\[.*\]", label) for _, label, _ in edges)


def test_text_is_escaped_for_mermaid(specs: Path) -> None:
    out = drawn("tinyllm.spec", "--format", "mermaid")

    assert "Linear(d -#gt; vocab)" in out
    assert "Linear(d -> vocab)" not in out


def test_a_flow_for_graphviz(specs: Path) -> None:
    out = drawn("tinyllm.spec", "--format", "dot")

    assert out.startswith('digraph "tinyllm" {\n')
    assert out.count("{") == out.count("}")
    assert re.search(r'  c0_\d+ -> c0_\d+ \[label="\[B, S, vocab\]"\];', out)


def test_a_drawing_can_be_written(sound: Path) -> None:
    assert drawn("-o", "model.txt") == ""
    assert (sound / "model.txt").read_text().startswith("M(x: [B, d]) -> y: [B, d]\n")


def test_a_library_has_no_model_to_draw(folder: Path) -> None:
    (folder / "lib.spec").write_text(LIBRARY)

    assert run_cli(["graph", "lib.spec"]) == (
        2,
        "",
        "error: lib.spec has no `model` to draw\n",
    )
