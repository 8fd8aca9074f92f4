"""What an extern declares besides shapes is checked without importing it."""

from pathlib import Path
from typing import Any

import pytest

from specc.plan.hashes import hashes
from tests.checking import check
from tests.unit.check.specs import facts, findings, only, says

OWN = """\
extern "own:Own" block Own[B, S, d](x: [B, S, d]) -> [B, S, d] {
  init(d, mode = "fast")
  param weight: [d, d]
  split B
}
"""
GATE = """\
extern "own:gate" block Gate[B, S, d](x: [B, S, d], y: [B, S, d]) -> [B, S, d] {
  call = function
  split B, S
}
"""


def spec(
    externs: str = OWN + GATE,
    body: str = "own: Own\n  y = own(a(x))\n  return Gate(x, y)",
    layout: str = "dp: shard B",
    mesh: str = "dp = 2",
) -> str:
    return f"""\
specc 1
{externs}
dim B = 4, S = 8, d = 4
let width = 2*d
model M(x: [B, S, d]) -> y: [B, S, d] {{
  a: Linear(d -> d)
  {body}
}}
mesh {{ {mesh} }}
layout {{
{layout}
}}
train {{
  data {{ x = randn }}
  loss = mean(y)
  optimizer = SGD(lr = 0.1)
  steps = 2
}}
"""


def changed(old: str, new: str, **more: str) -> str:
    """The text with one place changed, which must be there."""
    assert old in OWN + GATE
    return spec((OWN + GATE).replace(old, new, 1), **more)


def arguments(init: str) -> dict[str, Any]:
    text = changed('init(d, mode = "fast")', f"init({init})")
    return dict(facts(text).model.child("own").settings)


def test_arguments_are_numbers_texts_words_and_lists_of_any_dim_let_or_axis() -> None:
    assert arguments('d, mode = "fast"') == {"0": 4, "mode": "fast"}
    given = "d/2, width, bias = false, act = none, scale = 1/sqrt(d), parts = [1, dp]"
    expected = {"0": 2, "1": 8, "bias": False, "act": None, "scale": 0.5, "parts": (1, 2)}
    assert arguments(given) == expected


@pytest.mark.parametrize("value", ["nope", "relu(d)", "[d, nope]", "d = d, d = 2", "a = 1, d"])
def test_an_argument_that_python_would_not_get_is_refused(value: str) -> None:
    text = changed('init(d, mode = "fast")', f"init(a = {value})".replace("a = d =", "d ="))
    text = text.replace("init(a = a = 1", "init(a = 1")
    only(findings(text), "E0506")


@pytest.mark.parametrize(
    "path", ["own", "own:Own.sub", "os; import x:y", "own:class", ":Own", "own:"]
)
def test_only_names_that_python_imports_reach_a_script(path: str) -> None:
    only(findings(changed("own:Own", path)), "E0505")


def test_settings_and_dims_of_an_extern_are_known_ones() -> None:
    said = says(findings(changed("split B\n}", "split Q\n}")), "E0201")
    assert said == "`Own` has no dim `Q` to split @ Q"
    assert (
        says(findings(changed("call =", "cal =")), "E0601") == "`Gate` has no setting `cal` @ cal"
    )
    only(findings(changed("call = function", "call = functoin")), "E0603")
    only(findings(changed("call = function", "call = function\n  needs = cud")), "E0608")


def test_a_function_holds_nothing() -> None:
    only(findings(changed("call = function", "call = function\n  param w: [d]")), "E0506")


def test_a_class_is_a_part_and_a_function_is_not() -> None:
    only(findings(spec(body="return Own(a(x))", externs=OWN)), "E0507")
    alone = GATE.replace(", y: [B, S, d]", "")
    only(findings(spec(body="gate: Gate\n  return gate(a(x))", externs=alone)), "E0507")


def test_an_extern_runs_on_the_targets_that_it_needs() -> None:
    text = changed("call = function", "call = function\n  needs = cuda")
    finding = only(findings(text), "E0702")
    assert finding.title == "`Gate` needs cuda, the target is cpu"
    assert [label.span.text for label in finding.labels] == ["needs = cuda", "Gate(x, y)"]
    assert findings(text, target="cuda") == ()
    either = changed("call = function", "call = function\n  needs = [cuda, cpu]")
    assert findings(either) == ()
    assert only(findings(either, target="musa"), "E0702").title.startswith(
        "`Gate` needs cuda or cpu"
    )


def test_an_extern_that_nothing_uses_needs_nothing() -> None:
    text = changed("split B\n}", "split B\n  needs = cuda\n}", body="return Gate(x, a(x))")
    assert findings(text) == ()


@pytest.mark.parametrize("selector", ["own.weight", "each Own", "own"])
def test_a_rule_does_not_draw_what_a_class_draws(selector: str) -> None:
    text = spec().replace("steps = 2", f"steps = 2\n  init {selector} {{ zeros = true }}")
    found = only(findings(text), "E0402")
    assert (
        found.title == "`own.weight` is drawn by its own class, and this `init` would not change it"
    )


def test_an_extern_is_no_loss(tmp_path: Path) -> None:
    text = spec().replace("loss = mean(y)", "loss = Gate(y, x)")
    (found,) = check([("m.spec", text)], ["--target", "cpu"], tmp_path)
    assert found["code"] == "E0604"
    assert found["title"] == "`Gate` is an extern, and a loss is a name of the vocabulary"


CP = {"layout": "dp: shard B\ncp: shard S", "mesh": "dp = 2, cp = 2"}


def test_a_dim_that_an_extern_does_not_list_is_not_split() -> None:
    said = says(findings(spec(**CP)), "E0410")
    assert said == "`Own` needs `S` whole, and `cp` splits it @ S"
    assert findings(changed("split B\n", "split B, S\n", **CP)) == ()
    functions = changed("split B, S\n", "split B\n", body="return Gate(x, a(x))", **CP)
    assert says(findings(functions), "E0410").startswith("`Gate` needs `S` whole")


def test_sums_over_ranks_are_refused_and_not_forgotten() -> None:
    total = GATE.replace(", y: [B, S, d]) -> [B, S, d]", ") -> [B, d]")
    text = spec(total.replace("split B, S", "split B\n  sum S"), "return x + Gate(a(x))", **CP)
    found = only(findings(text), "E0494")
    assert found.title.startswith("`Gate` sums over `S`, a dim of the data")
    assert findings(spec(total.replace("split B, S", "split B"), "return x + Gate(a(x))")) == ()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("split B\n  sum S", "`Own` adds up over `S`, and its result [B, S, d] has `S`"),
        ("split B, S\n  sum S", "`Own` lists `S` under `split` and under `sum`"),
    ],
)
def test_pieces_that_cannot_give_the_result_are_refused(lines: str, says: str) -> None:
    found = only(findings(changed("  split B\n}", f"  {lines}\n}}")), "E0508")
    assert found.title == says


def test_a_piece_gives_a_piece_of_each_result() -> None:
    lost = GATE.replace("-> [B, S, d]", "-> [B, d]")
    found = only(findings(spec(lost, "return x + Gate(x, a(x))")), "E0508")
    assert found.title == "`Gate` works on a piece of `S`, and its result [B, d] has no `S`"


def test_names_in_a_count_of_flops_are_known() -> None:
    said = says(findings(changed("split B\n", "split B\n  flops = 2*S*state\n")), "E0201")
    assert said == "unknown dimension `state` @ 2*S*state"
    assert findings(changed("split B\n", "split B\n  flops = 2*S*d*width\n")) == ()


def test_another_class_is_other_mathematics_and_the_same_checkpoint() -> None:
    one, other = hashes(facts(spec())), hashes(facts(changed("own:Own", "own:Other")))
    assert one.model == other.model
    assert one.numerics != other.numerics
