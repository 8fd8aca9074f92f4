"""The exact words of every message about a text, and the fixes that apply by themselves."""

from __future__ import annotations

import pytest

from specc.diagnostics import Diagnostic
from specc.diagnostics.render import render_text
from specc.source import Source
from specc.syntax.parse import parse
from tests.unit.syntax.applied import applied


def found(text: str) -> tuple[Diagnostic, ...]:
    return parse(Source("a.spec", text))[1]


def only(text: str) -> Diagnostic:
    (diagnostic,) = found(text)
    return diagnostic


LAYOUT = "layout {{\n  {}\n}}\n"
TRAIN = "train {{\n  {}\n}}\n"
BODY = "block A(x: [B]) -> [B] {{\n  {}\n  return x\n}}\n"

FORMS = {"layout": LAYOUT, "train": TRAIN, "block": BODY, "file": "{}\n", "mesh": "mesh {{ {} }}\n"}

# Where it stands, the line, the code and title, the text pointed at and its remark, and, after an
# arrow, the line once the fix is applied that `specc check --fix` applies.
MESSAGES = """
layout | dp: shrad B
  E0101 expected `replicate`, `shard` or `stage`, found `shrad`
  `shrad` expected `replicate`, `shard` or `stage`
  help: did you mean `shard`?
  -> dp: shard B

layout | dp = shard B, params per Block
  E0101 expected `:` or `*`, found `=`
  `=` expected `:` or `*`
  help: rules are written `axis: what`; use `:` here
  -> dp: shard B, params per Block

layout | dp shard B
  E0101 expected `:` or `*`, found `shard`
  `shard` expected `:` or `*`
  help: is a `:` missing before `shard`?
  -> dp: shard B

layout | shard B
  E0125 `shard` belongs in `layout`, behind an axis
  `shard` begins no rule here
  help: say for which axis: `dp: shard ..`

layout | dp: shard B vai ring
  E0101 expected `,`, `{`, `}`, `else` or `per`, found `vai`
  `vai` expected `,`, `{`, `}`, `else` or `per`
  help: did you mean `via`?
  -> dp: shard B via ring

layout | precision { params = bf16 reduce = fp32 }
  E0101 expected `,`, `}` or end of line, found `reduce`
  `reduce` expected `,`, `}` or end of line
  help: is a `,` missing before `reduce`?
  -> precision { params = bf16, reduce = fp32 }

layout | precison each A { params = bf16 }
  E0101 expected a rule, found `precison each`
  `precison` not a keyword
  help: did you mean `precision`?
  -> precision each A { params = bf16 }

layout | init { normal = 0.02 }
  E0125 `init` belongs in `train`
  `init` has no meaning in `layout`
  note: rules that change the mathematics stand in `train`
  help: write it in `train`

layout | dp: shard B per A per C
  E0127 `per` stands twice in one rule
  `per C` again here
  `per A` first here

train | loss: mean(logits)
  E0101 expected `=`, found `:`
  `:` settings are written `name = value`
  help: use `=` here
  -> loss = mean(logits)

train | steps: 100
  E0101 expected `=`, found `:`
  `:` settings are written `name = value`
  help: use `=` here
  -> steps = 100

train | clip 1.0
  E0101 expected `,`, `:`, `=`, `{` or `.`, found `1.0`
  `1.0` expected `,`, `:`, `=`, `{` or `.`
  help: is a `=` missing before `1.0`?
  -> clip = 1.0

train | compile = true
  E0125 `compile` belongs in `layout`
  `compile` begins no setting here
  help: write the rule `compile` in `layout`; leave it out where nothing is to happen

train | precision { params = bf16 }
  E0125 `precision` belongs in `layout`
  `precision` has no meaning in `train`
  note: rules that leave the mathematics as it is stand in `layout`
  help: write it in `layout`

train | init = zeros
  E0121 `init` begins a rule here, so it is no setting
  `init` a rule names what it selects
  help: write it as `init { normal = 0.02 }`

train | dp: shard B
  E0125 rules for an axis belong in `layout`
  `dp: shard` `shard` has no meaning here
  help: write it in `layout`

train | steps =
  E0101 expected a value, found end of line
  `` expected a value
  note: a setting is written `steps = 100`

train | optimizer = AdamW(lr: 1e-4)
  E0101 expected `=`, found `:`
  `:` arguments are written `name = value`
  help: use `=` here
  -> optimizer = AdamW(lr = 1e-4)

train | lr = .5
  E0104 `.5` lacks a digit on one side of its point
  `.5` digits on both sides
  help: write `0.5`
  -> lr = 0.5

train | lr = f(5.)
  E0104 `5.` lacks a digit on one side of its point
  `5.` digits on both sides
  help: write `5.0`
  -> lr = f(5.0)

block | retrun x
  E0101 expected a statement, found `retrun x`
  `retrun` not a keyword
  help: did you mean `return`?
  -> return x

block | tie: Linear(d -> d)
  E0121 `tie` begins a statement here, so it is no name
  `tie` taken for the keyword
  help: choose another name

block | check = f(x)
  E0121 `check` begins a statement here, so it is no name
  `check` taken for the keyword
  help: choose another name

block | y = repeat(x)
  E0121 `repeat` begins a repetition, so it is no name
  `repeat` taken for the keyword
  help: choose another name; a repetition is written `repeat 4 Block`

block | y = f(repeat = 3)
  E0121 `repeat` begins a repetition, so it is no name
  `repeat` taken for the keyword
  help: choose another name; a repetition is written `repeat 4 Block`

block | dim e = 4
  E0125 `dim` belongs at the top of a file
  `dim` begins no statement here
  help: write it at the top of a file

block | + x
  E0101 a line cannot begin with `+`
  `+` the line above has ended

block | y = x**2
  E0122 there is no operator `**`
  `**` not an operator
  help: write `x*x`
  -> y = x*x

block | y = f(x)**2
  E0122 there is no operator `**`
  `**` not an operator
  help: write `x*x`; `sqrt` and `exp` are functions

block | y = a // b
  E0122 there is no operator `//`
  `//` not an operator
  help: `/` divides, in a size without a rest
  help: a comment begins with `#`

block | // a comment
  E0122 comments begin with `#`, not with `//`
  `//` not a comment
  help: write `#`
  -> # a comment

block | y += x
  E0122 there is no operator `+=`
  `+=` not an operator
  help: write `y = y + ..`

block | y := x
  E0122 there is no `:=` in a spec
  `:=` not a sign
  help: write `=`
  -> y = x

block | y = x => f
  E0122 there is no `=>` in a spec
  `=>` not a sign
  help: write `->`
  -> y = x -> f

block | y = mlp.2(x)
  E0101 expected a name, found `2`
  `2` expected a name
  help: an element is written `mlp[2]`
  -> y = mlp[2](x)

block | if x: f(x)
  E0122 there is no `if` in a spec
  `if` not a keyword
  help: choose between named layouts, or change sizes in a `profile`

block | y = f(x) if a else b
  E0122 there is no `if` in a spec
  `if` not an operator
  help: choose between named layouts, or change sizes in a `profile`

block | y = f(a b)
  E0101 expected `,`, `=` or `)`, found `b`
  `b` expected `,`, `=` or `)`
  help: is a `,` missing before `b`?
  -> y = f(a, b)

block | wq Linear(d -> d)
  E0101 expected `,`, `:` or `=`, found `Linear`
  `Linear` expected `,`, `:` or `=`
  help: is a `:` missing before `Linear`?
  -> wq: Linear(d -> d)

block | y f(x)
  E0101 expected `,`, `:` or `=`, found `f`
  `f` expected `,`, `:` or `=`
  help: is a `=` missing before `f`?
  -> y = f(x)

block | h: Linear(d -> d) = x
  E0124 a value is annotated with its shape, not with `Linear(d -> d)`
  `Linear(d -> d)` expected `[..]`, with a dtype before it or none
  help: a part takes no `=`: write the part, and the value on a line of its own

block | h: bf16[0..4] = x
  E0123 `0..4` picks elements, and this is a shape
  `0..4` expected a dim

block | y = [.., 4]
  E0123 `..` stands for dims, so it belongs into a shape
  `..` in a list of values
  note: shapes stand in signatures, after `as`, and in `name: [..] = value`

file | d = 4096
  E0101 expected a declaration, found `d`
  `d` not a keyword
  help: a size is declared with `dim d = ..`

file | modle M(x: [B]) -> [B] { return x }
  E0101 expected a declaration, found `modle M`
  `modle` not a keyword
  help: did you mean `model`?
  -> model M(x: [B]) -> [B] { return x }

file | 4096
  E0101 expected a declaration, found `4096`
  `4096` expected a declaration
  note: a declaration is written `dim d = 4096, hd = d/heads`

file | dim d: 4096
  E0101 expected `=`, found `:`
  `:` sizes are written `name = value`
  help: use `=` here
  -> dim d = 4096

file | dim d = 4, e
  E0101 expected `=`, found end of line
  `` expected `=`
  note: a declaration is written `dim d = 4096, hd = d/heads`

file | model M(x = [B]) -> [B] { return x }
  E0101 expected `:`, found `=`
  `=` expected `:`
  help: a type follows a `:`; use `:` here
  -> model M(x: [B]) -> [B] { return x }

file | block A(x: [B]) { return x }
  E0101 expected `->`, found `{`
  `{` expected `->`
  note: a declaration is written `block MLP(x: [B, S, d]) -> [B, S, d] { .. }`

file | mesh dp = 4
  E0101 expected `{` or `on`, found `dp`
  `dp` expected `{` or `on`
  note: a declaration is written `mesh { dp = world }`

file | check a = b
  E0101 expected a comparison, found `=`
  `=` `=` gives a name its value
  help: write `==`
  -> check a == b

file | check 0 < a < b
  E0101 comparisons do not chain: a second one, `<`
  `<` second comparison
  help: write one `check` for each comparison

file | check a > 1 and b > 1
  E0122 there is no `and` in a spec
  `and` not an operator
  help: write one `check` for each condition

file | check not a > 1
  E0122 there is no `not` in a spec
  `not` not an operator
  help: use the opposite comparison

file | import foo
  E0122 there is no `import` in a spec
  `import` not a keyword
  help: bring in blocks with `from "file.spec" use Block`

file | from lib.llama use Block
  E0101 expected a path in double quotes, found `lib.llama`
  `lib.llama` not a string
  help: the path of a file is a string: `from "lib/llama.spec" use Block`

file | from "lib/llama.spec" import Block
  E0101 expected `use`, found `import`
  `import` expected `use`
  help: did you mean `use`?
  -> from "lib/llama.spec" use Block

file | return x
  E0125 `return` belongs in a `block` or `model`
  `return` begins no declaration here
  help: write it in a `block` or `model`

file | specc 3
  E0108 this file is edition 3; this specc understands edition 1
  `3` edition 3
  help: upgrade: pip install -U specc

file | specc 1.0
  E0108 this file is edition 1.0; this specc understands edition 1
  `1.0` edition 1.0
  help: write `specc 1`

file | let a = 'x'
  E0122 strings take double quotes
  `'x'` single quotes
  help: write `"x"`
  -> let a = "x"

file | let a = 3 && 4
  E0122 `&&` is not a sign of the language
  `&&` unknown sign
  note: signs: ( ) [ ] { } , : = -> + - * / % == != < <= > >= . .. ; #

file | let a = (1; 2)
  E0101 expected `)`, found `;`
  `;` expected `)`
  note: a declaration is written `let base_lr = 3e-4`

mesh | dp: 4
  E0101 expected `=`, found `:`
  `:` axes are written `name = value`
  help: use `=` here
  -> dp = 4

mesh | dp = 2 { a = 1, b 2 }
  E0101 expected `=`, found `2`
  `2` expected `=`
  help: is a `=` missing before `2`?
  -> dp = 2 { a = 1, b = 2 }
"""


def described(diagnostic: Diagnostic) -> list[str]:
    """A finding in the lines of the list above."""
    labels = [f"`{label.span.text}` {label.text}" for label in diagnostic.labels]
    notes = [f"note: {note}" for note in diagnostic.notes]
    helps = [f"help: {way.text}" for way in diagnostic.helps]
    return [f"{diagnostic.code} {diagnostic.title}", *labels, *notes, *helps]


@pytest.mark.parametrize(
    "case", MESSAGES.strip().split("\n\n"), ids=lambda case: case.split("\n")[0]
)
def test_messages(case: str) -> None:
    head, *expected = case.split("\n")
    place, line = head.split(" | ")
    text = FORMS[place].format(line)
    diagnostic = only(text)
    fixed = applied(text, [diagnostic])
    lines = described(diagnostic)
    if fixed != text:
        form = FORMS[place].format("\0").split("\0")
        lines.append("-> " + fixed.removeprefix(form[0]).removesuffix(form[1]))
        assert found(fixed) == ()
    assert [line.strip() for line in expected] == lines


def test_a_line_that_begins_with_an_operator_is_joined_to_the_one_above() -> None:
    text = BODY.format("y = a  # first\n    + b")
    diagnostic = only(text)
    assert diagnostic.title == "a line cannot begin with `+`"
    assert diagnostic.helps[0].text == "end the line above with `+`"
    fixed = applied(text, [diagnostic])
    assert fixed == BODY.format("y = a +  # first\n     b")
    assert found(fixed) == ()


def test_a_line_that_begins_with_a_comma_is_joined_to_the_one_above() -> None:
    text = "dim a = 1\n, b = 2\n"
    assert applied(text, [only(text)]) == "dim a = 1,\n b = 2\n"


def test_the_edition_stands_at_the_top_once() -> None:
    late = only("dim a = 1\nspecc 1\n")
    assert (late.code, late.title) == ("E0109", "the edition belongs at the top of the file, once")
    assert only("specc 1\nspecc 1\n").labels[0].span.line == 2


def test_an_extern_block_has_one_init() -> None:
    twice = only('extern "a:b" block A() -> [] {\n  init(a = 1)\n  init(b = 2)\n}\n')
    assert (twice.code, twice.title) == ("E0127", "`init` stands twice in one extern block")
    assert [label.span.line for label in twice.labels] == [3, 2]


def test_end_of_line_is_pointed_at_behind_the_last_sign() -> None:
    text = "train {\n  steps =   # how many?\n}\n"
    assert render_text(only(text)) == (
        "error[E0101]: expected a value, found end of line\n"
        " --> a.spec:2:10\n"
        "  |\n"
        "2 |   steps =   # how many?\n"
        "  |          ^ expected a value\n"
        "  |\n"
        "  = note: a setting is written `steps = 100`"
    )


def test_a_near_word_is_no_fix_where_the_statement_stays_faulty() -> None:
    (way,) = only(LAYOUT.format("dp: shrad = 3")).helps
    assert (way.text, way.applicability) == ("did you mean `shard`?", "likely")


def test_what_may_be_meant_otherwise_is_never_applied() -> None:
    for text in ("d = 4\n", BODY.format("y += x"), BODY.format("y = a // b"), "let a = 8B\n"):
        (diagnostic,) = found(text)
        assert all(way.applicability != "sure" for way in diagnostic.helps), text
        assert diagnostic.helps[0].edits, text
