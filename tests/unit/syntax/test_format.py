"""The format of specs: what it sets, and that it changes nothing but white space."""

from __future__ import annotations

from pathlib import Path

import pytest

from specc.syntax.format import format_text
from specc.syntax.scan import scan

ROOT = Path(__file__).resolve().parents[3]
SPECS = sorted([*ROOT.glob("specs/**/*.spec"), *ROOT.glob("templates/init/*.spec")])


def in_block(line: str) -> str:
    return f"block A() -> [] {{\n  {line}\n}}\n"


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.relative_to(ROOT)))
def test_specs_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dim   a=1 ,b  = 2", "dim a = 1, b = 2"),
        ("dim a = 4 * d / heads", "dim a = 4*d/heads"),
        ("dim a = heads*(b+c)", "dim a = heads*(b + c)"),
        ("dim a = b-1", "dim a = b - 1"),
        ("let a = - 1", "let a = -1"),
        ("let a = f( -1,b - 1 )", "let a = f(-1, b - 1)"),
        ("let a = 2*-b", "let a = 2*-b"),
        ("let a = [ 1,2 ]", "let a = [1, 2]"),
        ("let a = x[ 0 .. 4 , * ]", "let a = x[0..4, *]"),
        ("let a = x[-1] . w", "let a = x[-1].w"),
        ("let a = f (x) ->g", "let a = f(x) -> g"),
        ("let a = x as[.. ,d]", "let a = x as [.., d]"),
        ("let a = repeat n[A,B]", "let a = repeat n [A, B]"),
        ("let a = repeat( 2*n )as i B(i)", "let a = repeat (2*n) as i B(i)"),
        ("let a = repeat 4(A->B)", "let a = repeat 4 (A -> B)"),
        ("let a = down(silu(gate(x))*up(x))", "let a = down(silu(gate(x)) * up(x))"),
        ("let a = embed(ids) * sqrt(d)", "let a = embed(ids)*sqrt(d)"),
        ("let a = norm(f(x)) * (1 + s)", "let a = norm(f(x))*(1 + s)"),
        ('check a%4==0,"x"', 'check a % 4 == 0, "x"'),
        ("check a<=b", "check a <= b"),
        ("check(a)<b", "check (a) < b"),
        ('from"a.spec"use A as B', 'from "a.spec" use A as B'),
        ("mesh{dp=world}", "mesh { dp = world }"),
        ("mesh { }", "mesh {}"),
        ("model M(x:[B])->[B]{return(x)}", "model M(x: [B]) -> [B] { return (x) }"),
        (
            "block A[B,w:int=none](x :i64[B])->[],[]{}",
            "block A[B, w: int = none](x: i64[B]) -> [], [] {}",
        ),
        (
            "layout { dp * cp:shard a,b per each A in x }",
            "layout { dp*cp: shard a, b per each A in x }",
        ),
        ("dim a = 1;dim b = 2", "dim a = 1; dim b = 2"),
        ("dim a = 1 # why", "dim a = 1  # why"),
        ("#why", "#why"),
    ],
)
def test_space_inside_of_lines(text: str, expected: str) -> None:
    assert format_text(text) == f"{expected}\n"


def test_indentation_follows_the_brackets() -> None:
    text = """\
extern "a:b" block F[B](
x: [B],
# the second
      y: [B],
  ) -> [B] {
split B
}
train {
log {
every = 10
# the last
}
optimizer = AdamW(f(
1e-3
), betas = [
0.9,
])
}
"""
    assert (
        format_text(text)
        == """\
extern "a:b" block F[B](
  x: [B],
  # the second
  y: [B],
) -> [B] {
  split B
}
train {
  log {
    every = 10
    # the last
  }
  optimizer = AdamW(f(
    1e-3
  ), betas = [
    0.9,
  ])
}
"""
    )


def test_a_statement_that_goes_on_is_indented() -> None:
    text = "dim a = 1,\nb = 2\n" + in_block("return h\n-> norm\n# why\n-> out +\nx")
    assert format_text(text) == "dim a = 1,\n  b = 2\n" + in_block(
        "return h\n    -> norm\n    # why\n    -> out +\n    x"
    )


def test_settings_after_a_comma_do_not_go_on() -> None:
    text = "profile p {\n  a = 1,\n  b = 2,\n}\n"
    assert format_text(text) == text


def test_at_most_one_blank_line_and_none_at_the_ends() -> None:
    text = "\n\ndim a = 1\n\n\n\ndim b = 2\ntrain {\n\n  a = 1\n\n  # x\n\n}\n\n\n"
    assert format_text(text) == "dim a = 1\n\ndim b = 2\ntrain {\n  a = 1\n\n  # x\n}\n"


@pytest.mark.parametrize(
    "text",
    [
        # settings
        "train {\n  loss       = f(x)\n  accumulate = 4\n  log { every = 1 }\n  a = 1\n}\n",
        "train {\n  a = 1\n\n  longer = 2\n}\n",
        "train {\n  a      = 1\n  init b { c = 1 }\n  optimize d\n  longer = 2\n}\n",
        "train {\n  a = 1\n  # apart\n  longer = 2\n}\n",
        "profile p {\n  a = 1, b = 2\n  longer = 3\n}\n",
        "train {\n  data {\n    x = randn\n    yy: [B, d] = randn\n    zzz, a = f()\n  }\n}\n",
        "mesh {\n  dp = 4 { rep = 2, fsdp = 2 }\n  tp = 2\n  pp = 2\n}\n",
        "mesh {\n  dp     = 4\n  longer = 2\n}\n",
        # parts and rules
        in_block("attn: A\n  norm: RMSNorm(d)"),
        in_block("a:      A(x,\n    y)\n  longer: B"),
        in_block("a: A\n  longer: [B] = x\n  y = a(x)\n  zzz = y"),
        "layout {\n  dp:    shard B\n  dp*cp: shard params\n}\n",
        "layout {\n  pp: stage a {\n    first = [b]\n  }\n  dp:    shard B\n  dp*cp: shard c\n}\n",
        'extern "a:b" block F() -> [] {\n  param in:     [d]\n  param longer: [d]\n}\n',
        # blocks on one line
        "layout {\n  offload        { a = 1 }\n  offload each A { b = 1 }\n  compile each A\n}\n",
        "train {\n  log  { every = 10 }\n  save { every = 500 }\n}\n",
        "on cpu { layout = a }\non other { layout = b }\n",
        # comments
        "dim a = 1      # one\ndim b = 1_000  # two\n\ndim c = 1  # three\n",
        'let a = "中文"  # one\nlet b = "abcd"  # two\n',
        "mesh {  # outer\n  dp = 1  # inner\n}\n",
    ],
)
def test_what_belongs_together_stands_in_columns(text: str) -> None:
    assert format_text(text) == text
    loose = "".join(
        lexeme.text for lexeme in scan(text) if lexeme.kind != "space" or lexeme.text == " "
    )
    assert format_text(loose) == text


def test_columns_far_apart_are_left_alone() -> None:
    long = "recompute each Linear in blocks[0..2] except blocks[0].attention.first { a = 1 }"
    text = f"layout {{\n  precision {{ a = 1 }}\n  {long}\n}}\n"
    assert format_text(text) == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_stay_what_the_first_one_is(end: str) -> None:
    assert format_text(f"dim a = 1{end}\n\ndim b = 2") == f"dim a = 1{end}{end}dim b = 2{end}"


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n"])
def test_nothing_stays_nothing(text: str) -> None:
    assert format_text(text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dim a = = 1", "dim a = = 1\n"),
        ("dim a = 1 +\nlet b = 2", "dim a = 1 +\nlet b = 2\n"),
        ("let a = b - > c", "let a = b - > c\n"),
        ("let a = 5 .5", "let a = 5 .5\n"),
        ("let a = 0. 02", "let a = 0. 02\n"),
        ("dim a=1，b=2", "dim a = 1，b = 2\n"),
        ("dim 层=1", "dim 层 = 1\n"),
        ("let a='x'", "let a = 'x'\n"),
        ('let a="x', 'let a = "x\n'),
        (
            "mesh { dp = 4\n\nlayout {\ndp: shard B\n}\n",
            "mesh { dp = 4\n\nlayout {\n  dp: shard B\n}\n",
        ),
        ("}\n}\ndim a=1\n", "}\n}\ndim a = 1\n"),
        ("# a\r# b\n", "# a\r# b\n"),
        ("dim a = 1\r\ndim b = 2\r\r\n", "dim a = 1\r\ndim b = 2\r \r\n"),
        ('"a\r', '"a\r \n'),
        ('"a\r\r\nb', '"a\r \r\nb\r\n'),
        ("＃a\r", "＃a\r \n"),
    ],
)
def test_texts_that_do_not_parse_are_formatted_as_far_as_they_go(text: str, expected: str) -> None:
    assert format_text(text) == expected
    assert format_text(expected) == expected
