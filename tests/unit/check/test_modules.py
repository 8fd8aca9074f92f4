"""The unfolded model: lists, indices, settings, parameters and their sizes."""

from __future__ import annotations

from typing import Any

from tests.unit.check.specs import facts, findings, only, says, spec

LISTS = """\
block A[window: int = none, layer: int = 0, wide: float = 1](x: [B, S, d]) -> [B, S, d] {
  w: Linear(d -> d, bias = false)
  check layer < 6, "few layers"
  return x + w(x)*wide
}

block C[layer: int](x: [B, S, d]) -> [B, S, d] {
  inner: A(layer = layer + 1)
  return inner(x)
}

model M(x: [B, S, d]) -> out: [B, S, d] {
  list: LIST
  return list(x)
}
"""
DIMS = "dim d = 8, S = 4, depth = 3, B = 2*dp\n"
FLOATS = "  data { x = randn }\n  loss = mean(out)\n  optimizer = SGD(lr = 0.1)\n  steps = 1\n"


def listed(expr: str, **where: Any):  # noqa: ANN201
    text = spec(dims=DIMS, model=LISTS.replace("LIST", expr), train=FLOATS)
    return facts(text, **where).model.child("list").children


def shapes(expr: str) -> list[tuple[str, str, object]]:
    return [(m.path, m.type, m.statics.get("window")) for m in listed(expr)]


def test_a_repeat_is_a_flat_list() -> None:
    assert [m.path for m in listed("repeat depth A")] == ["list.0", "list.1", "list.2"]


def test_a_pattern_is_cycled_and_cut() -> None:
    assert shapes("repeat 5 [A(window = 2), A]") == [
        ("list.0", "A", 2),
        ("list.1", "A", None),
        ("list.2", "A", 2),
        ("list.3", "A", None),
        ("list.4", "A", 2),
    ]


def test_repeats_inside_a_list_are_spliced() -> None:
    assert shapes("[repeat 2 A, A(window = 1), repeat (depth - 2) A]") == [
        ("list.0", "A", None),
        ("list.1", "A", None),
        ("list.2", "A", 1),
        ("list.3", "A", None),
    ]


def test_the_index_of_a_repeat_is_a_number_down_the_tree() -> None:
    found = listed("repeat depth as i C(layer = 2*i)")
    assert [m.statics["layer"] for m in found] == [0, 2, 4]
    assert [m.child("inner").statics["layer"] for m in found] == [1, 3, 5]


def test_settings_have_their_kinds_and_defaults() -> None:
    (first,) = listed("[A(wide = 3)]")
    assert dict(first.statics) == {"window": None, "layer": 0, "wide": 3.0}
    assert isinstance(first.statics["wide"], float)
    assert first.child("w").settings == {"bias": False}


def test_a_check_of_a_block_is_evaluated_for_every_use() -> None:
    text = spec(
        dims=DIMS, model=LISTS.replace("LIST", "repeat depth as i C(layer = 2*i + 3)"), train=FLOATS
    )
    finding = only(findings(text), "E0234")
    assert finding.title == "`layer < 6` does not hold: few layers"
    assert finding.labels[0].text == "6 < 6"


def test_a_missing_setting_and_a_wrong_kind_are_reported() -> None:
    text = spec(dims=DIMS, model=LISTS.replace("LIST", "repeat depth C"), train=FLOATS)
    assert says(findings(text), "E0610").startswith("`C` needs `layer`")
    text = spec(dims=DIMS, model=LISTS.replace("LIST", "[A(window = true)]"), train=FLOATS)
    assert says(findings(text), "E0602") == "`A.window` is a whole number, not `true` @ true"


def test_lists_and_models_have_limits() -> None:
    text = spec(dims=DIMS, model=LISTS.replace("LIST", "repeat 5_000 A"), train=FLOATS)
    assert says(findings(text), "E0236").startswith("a list of 5_000 parts; the most is 4_096")


def test_an_empty_list_is_a_list() -> None:
    assert facts(spec(), sets={"depth": "0"}).model.child("blocks").children == ()


def test_parameters_have_state_dict_names_and_global_sizes() -> None:
    found = facts(spec(), sets={"depth": "1"})
    assert [(p.name, p.sizes) for p in found.parameters] == [
        ("embed.weight", (32, 16)),
        ("blocks.0.norm.weight", (16,)),
        ("blocks.0.attn.wq.weight", (16, 16)),
        ("blocks.0.attn.wk.weight", (8, 16)),
        ("blocks.0.attn.wv.weight", (8, 16)),
        ("blocks.0.attn.wo.weight", (16, 16)),
        ("blocks.0.mlp.0.weight", (64, 16)),
        ("blocks.0.mlp.0.bias", (64,)),
        ("blocks.0.mlp.2.weight", (16, 64)),
        ("blocks.0.mlp.2.bias", (16,)),
        ("norm.weight", (16,)),
        ("head.weight", (32, 16)),
    ]


def test_calls_carry_evaluated_settings() -> None:
    attention = facts(spec()).model.child("blocks").children[0].child("attn")
    by_name = {call.function: settings for call, settings in attention.calls.items()}
    assert by_name["rope"]["theta"] == 10_000.0
    assert by_name["attention"]["causal"] is True
    assert by_name["attention"]["window"] is None


def test_numbers_of_value_expressions_are_evaluated() -> None:
    model = LISTS.replace("LIST", "[A(wide = 0.5)]").replace(
        "return list(x)", "return list(x)*sqrt(2*d)"
    )
    found = facts(spec(dims=DIMS, model=model, train=FLOATS)).model
    assert list(found.numbers.values()) == [4.0]
    assert list(found.child("list").children[0].numbers.values()) == [0.5]


def test_a_tensor_without_elements_is_an_error() -> None:
    found = findings(spec(), sets={"ff": "0"})
    assert {finding.code for finding in found} == {"E0235"}
    assert found[0].title == "a tensor of shape [ff, d] has no elements"
