"""All faults of a file in one run: each once, nothing else lost, nothing in consequence."""

from __future__ import annotations

import pytest

from specc.diagnostics import Diagnostic
from specc.source import Source
from specc.syntax import tree
from specc.syntax.parse import parse

BLOCK = """\
block A(x: [B, d]) -> [B, d] {
  norm: LayerNorm(d)
  h = norm(x)
  return h
}
"""


def read(text: str) -> tuple[tree.File, list[tuple[str, int, str]]]:
    """The tree, and code, line and marked text of each finding."""
    file, diagnostics = parse(Source("a.spec", text))
    return file, [place(diagnostic) for diagnostic in diagnostics]


def place(diagnostic: Diagnostic) -> tuple[str, int, str]:
    span = diagnostic.labels[0].span
    return diagnostic.code, span.line, span.text


def names(file: tree.File) -> list[str]:
    """What is in the tree, one line of text for each declaration."""
    return [declaration.span.text.partition("\n")[0] for declaration in file.declarations]


def test_a_faulty_statement_is_left_out_of_its_block() -> None:
    file, found = read(BLOCK.replace("h = norm(x)", "h = norm x"))
    assert found == [("E0101", 3, "x")]
    (block,) = file.declarations
    assert isinstance(block, tree.Block)
    assert [statement.span.text for statement in block.body] == ["norm: LayerNorm(d)", "return h"]
    assert file.poisoned == {"h"}
    assert file.incomplete == {"A"}


def test_every_faulty_statement_is_reported() -> None:
    text = BLOCK.replace("LayerNorm(d)", "LayerNorm(d").replace("norm(x)", "norm x")
    text += "dim a = , b = 2\nlayout {\n  dp: shrad B\n  tp: shard d\n  cp = shard S\n}\n"
    text += "train {\n  loss: f(x)\n  steps = 3, clip 1\n  data { x = = 1, y = 2 }\n}\n"
    _, found = read(text)
    assert [line for _, line, _ in found] == [2, 3, 6, 8, 10, 13, 14, 15]


def test_faults_in_nested_settings_leave_their_neighbours() -> None:
    file, found = read(
        "train {\n  log { every = 1 2, warmup = 3 }\n  data {\n    x = = 1\n    y = 2\n  }\n}"
    )
    assert [line for _, line, _ in found] == [2, 4]
    (train,) = file.declarations
    assert isinstance(train, tree.Train)
    log, data = train.attrs
    assert isinstance(log, tree.Nested)
    assert isinstance(data, tree.Nested)
    assert [setting.span.text for setting in log.attrs] == ["warmup = 3"]
    assert [setting.span.text for setting in data.attrs] == ["y = 2"]


def test_a_faulty_head_takes_its_declaration_and_no_other() -> None:
    file, found = read("dim d = 1\nblock A(x [B]) -> [B] {\n  y = x\n  return y z\n}\ndim e = 2\n")
    assert [(code, line) for code, line, _ in found] == [("E0101", 2), ("E0101", 4)]
    assert names(file) == ["d = 1", "e = 2"]
    assert "A" in file.poisoned


def test_the_body_of_a_misspelt_declaration_is_read() -> None:
    _, found = read("modle M(x: [B]) -> [B] {\n  retrun x\n}\nlaout {\n  dp: shrad B\n}\n")
    assert [(line, text) for _, line, text in found] == [
        (1, "modle"),
        (2, "retrun"),
        (4, "laout"),
        (5, "shrad"),
    ]


@pytest.mark.parametrize(
    ("text", "poisoned"),
    [
        ("dim a = , b = 2", {"a", "b"}),
        ("dim a = f(c = 1), b", {"a", "b"}),
        ("let a = = 2", {"a"}),
        ('from "x" use A, B as C,,', {"A", "B", "C"}),
        ("block A(x) -> [B] {}", {"A"}),
        ("model M {}", {"M"}),
        ('extern "a" block E() {}', {"E"}),
        ("cluster c { a = 1", set()),
        ("profile p = 3", {"p"}),
        ("mesh { dp = , tp = 2 }", {"dp"}),
        ("block A() -> [] { a, b = = c }", {"a", "b"}),
        ("block A() -> [] { a: = c }", {"a"}),
        ("block A() -> [] { return = c }", {"return"}),
        ("block A() -> [] { a Linear(d -> d) }", {"a"}),
        ("check a = = b", set()),
        ("train { a = = b }", set()),
    ],
)
def test_names_of_what_was_left_out_are_poisoned(text: str, poisoned: set[str]) -> None:
    file, found = read(text)
    assert found
    assert file.poisoned == poisoned


@pytest.mark.parametrize(
    ("text", "incomplete"),
    [
        ("block A() -> [] { a = = c }", {"A"}),
        ("model M() -> [] { a = = c }", {"M"}),
        ("layout { a = b }", {"layout"}),
        ("layout long { a = b }", {"long"}),
        ("train { a = = b }", {"train"}),
        ("mesh { a = = b }", {"mesh"}),
        ("launch { a = = b }", {"launch"}),
        ("profile p { a = = b }", {"p"}),
        ("dim a = = b", set()),
        ("mesh { dp = 4", {"mesh"}),
    ],
)
def test_declarations_that_lack_a_statement_are_incomplete(text: str, incomplete: set[str]) -> None:
    assert read(text)[0].incomplete == incomplete


def test_a_comma_at_the_end_of_a_line_does_not_swallow_the_next_declaration() -> None:
    file, found = read("dim a = 1,\n\n" + BLOCK)
    assert found == [("E0101", 1, "")]
    assert names(file) == ["block A(x: [B, d]) -> [B, d] {"]


def test_an_operator_at_the_end_of_a_line_does_not_swallow_the_next_statement() -> None:
    file, found = read(BLOCK.replace("h = norm(x)", "h = norm(x) +"))
    assert found == [("E0101", 3, "")]
    (block,) = file.declarations
    assert isinstance(block, tree.Block)
    assert isinstance(block.body[-1], tree.Return)


# --------------------------------------------------------------------------------- brackets


def test_a_brace_that_is_not_closed_ends_before_the_next_declaration() -> None:
    file, found = read("mesh { dp = 4\n\nlayout {\n  dp: shard B\n}\n")
    assert found == [("E0102", 1, "{")]
    mesh, layout = file.declarations
    assert isinstance(mesh, tree.Mesh)
    assert [axis.name for axis in mesh.axes] == ["dp"]
    assert isinstance(layout, tree.Layout)
    assert len(layout.rules) == 1


def test_the_message_names_both_places() -> None:
    _, (diagnostic,) = parse(Source("a.spec", "mesh {\n  dp = 4\n\nlayout {\n  dp: shard B\n}\n"))
    assert diagnostic.title == "this `{` is never closed"
    assert [(label.span.text, label.text) for label in diagnostic.labels] == [
        ("{", "opened here"),
        ("layout", "the next declaration starts here"),
    ]
    assert diagnostic.helps[0].text == "add the missing `}` before line 4"


@pytest.mark.parametrize(
    ("text", "line", "bracket"),
    [
        ("layout {\n  precision { params = bf16\n  dp: shard B\n}\ndim d = 1\n", 2, "{"),
        (BLOCK.replace("LayerNorm(d)", "LayerNorm(d"), 2, "("),
        (BLOCK.replace("LayerNorm(d)", "LayerNorm(\n    d"), 2, "("),
        (BLOCK.replace("[B, d]) ->", "[B, d) ->"), 1, "["),
        (BLOCK.replace("norm(x)", "norm(x]"), 3, "]"),
        (BLOCK + "}\n", 6, "}"),
        (BLOCK.replace("norm(x)", "norm(x))"), 3, ")"),
        (BLOCK.removesuffix("}\n"), 1, "{"),
        (BLOCK.replace("A(x", "A((x"), 1, "("),
        (BLOCK.replace("LayerNorm(d)", "LayerNorm((d)"), 2, "("),
        (BLOCK.replace("-> [B, d] {", "-> [B, d]"), 5, "}"),
        ("profile p\n  a = 1, b = 2\n}\n", 3, "}"),
    ],
)
def test_brackets_without_a_partner_cost_one_message(text: str, line: int, bracket: str) -> None:
    _, found = read(text)
    assert found == [("E0102", line, bracket)]


def test_lines_deeper_than_an_open_parenthesis_belong_to_it() -> None:
    text = BLOCK.replace("LayerNorm(d)", "LayerNorm(d,\n    eps = 1e-5,\n    affine = true")
    file, found = read(text)
    assert found == [("E0102", 2, "(")]
    (block,) = file.declarations
    assert isinstance(block, tree.Block)
    assert [statement.span.text for statement in block.body] == ["h = norm(x)", "return h"]
    assert file.poisoned == {"norm"}


def test_the_first_column_means_nothing_while_brackets_balance() -> None:
    text = "train {\nsteps = 3\nlayout = long\nmesh { a = 2 }\n}\nprofile p {\nlaunch.a = 1\n}\n"
    file, found = read(text)
    assert found == []
    assert len(file.declarations) == 2


def test_a_setting_named_like_a_declaration_closes_nothing() -> None:
    file, found = read("on cpu {\nlayout = long\n")
    assert found == [("E0102", 1, "{")]
    (target,) = file.declarations
    assert isinstance(target, tree.Target)
    assert len(target.attrs) == 1


def test_fourteen_faults_give_fourteen_messages() -> None:
    text = """\
specc 1
dim d = 4096 ff = 4*d
dim B = 4d
dim vocab = 32_000, depth = 8Bn

block Block(x: [B, S, d]) -> [B, S, d] {
  attn: Linear(d -> d
  mlp:  Linear(d -> ff) -> GELU -> -> Linear(ff -> d)
  tie:  LayerNorm(d)
  x = x ++ attn(x) +* 3
  x += mlp(x)
  retrun x
}

mesh { dp: world }

layout {
  dp = shard B
  dp: shrad params per Block
  precision { params = bf16 reduce = fp32 }
}

train {
  loss: mean(logits)
  optimizer = AdamW(lr = .5)
}
"""
    _, found = read(text)
    assert [line for _, line, _ in found] == [2, 3, 4, 7, 8, 9, 10, 11, 12, 15, 18, 19, 20, 24, 25]
