"""Axis rules: splits, methods, storage, and rules that are understood but not built yet."""

from __future__ import annotations

import pytest

from specc.check.layout import divisors
from specc.plan.collectives import collectives
from specc.plan.tensor import axes_in
from specc.program.dims import dim, product
from specc.program.model import ValueType
from tests.unit.check.specs import DIMS, MODEL, facts, findings, only, says, spec

ULYSSES = "dp: shard B\ncp: shard S via ulysses(heads)"


def test_a_dim_is_split_over_the_leaves_of_its_axis() -> None:
    layout = facts(spec("dp: shard B", "dp = 4 { rep = 2, fsdp = 2 }")).layout
    assert layout.axes_of("B") == ("rep", "fsdp")
    assert layout.axes_of("S") == ()


def test_two_axes_may_split_one_dim_and_the_outer_one_is_major() -> None:
    layout = facts(
        spec("b: shard B\na: shard B", "a = 2, b = 2", dims=DIMS.replace("2*dp", "8"))
    ).layout
    assert [(split.dim, split.axes) for split in layout.splits] == [("B", ("a", "b"))]


def test_a_method_carries_its_dim_and_settings() -> None:
    (method,) = facts(spec(ULYSSES, "dp = 2, cp = 2")).layout.methods
    assert (method.name, method.dim, method.axes, method.within) == ("ulysses", "S", ("cp",), None)
    assert dict(method.settings) == {"heads": "heads", "repeat_kv": False}


def test_a_method_may_be_for_some_parts() -> None:
    text = spec(ULYSSES + " within blocks", "dp = 2, cp = 2")
    (method,) = facts(text).layout.methods
    assert method.within is not None
    assert "blocks.3.attn" in method.within
    assert "head" not in method.within


def test_values_are_split_by_the_dims_in_their_entries() -> None:
    layout = facts(spec(ULYSSES, "dp = 2, cp = 2")).layout
    shape = (product(dim("B"), dim("S")), product(dim("heads"), dim("hd")))
    assert axes_in(ValueType("float", shape), layout) == [("dp", "cp"), ()]


def test_ranks_that_repeat_the_work_are_said() -> None:
    layout = facts(spec("dp: shard B\nrep: replicate", "rep = 2, dp = 2")).layout
    assert layout.duplicate == ("rep",)


@pytest.mark.parametrize(
    ("layout", "mesh", "code", "expected"),
    [
        ("ddp: shard B", "dp = 2", "E0404", "the mesh has no axis `ddp` @ ddp"),
        (
            "dp: shard B per Block",
            "dp = 2",
            "E0414",
            "`per` is about storage, and this rule shards no params, grads or optim @ Block",
        ),
        (
            "dp: shard B, prams per Block",
            "dp = 2",
            "E0405",
            "`prams` is neither a dimension nor params, grads or optim @ prams",
        ),
        (
            "dp: shard B\ncp: shard S",
            "dp = 2, cp = 3",
            "E0406",
            "`S` = 8 does not divide over cp = 3 @ S",
        ),
        (
            "dp: shard B, S",
            "dp = 2",
            "E0409",
            "`B` and `S` are both split over `dp`, and `ids: [B, S]` has both @ S",
        ),
        ("dp: shard B", "dp = 2, cp = 2", "E0411", "no rule uses mesh axis `cp` @ cp = 2"),
        (
            "dp: shard params per Block",
            "dp = 2",
            "E0413",
            "`dp` shards params but no data @ shard params per Block",
        ),
        (
            "dp: shard B\ndp: replicate",
            "dp = 2",
            "E0407",
            "`dp` is told to replicate and to split `B` @ replicate",
        ),
        (
            "dp: shard B\ncp: shard S",
            "dp = 2, cp = 2",
            "E0410",
            "`attention` needs `S` whole, and `cp` splits it @ S",
        ),
        (
            "dp: shard B\ncp: shard S via ulysses(d)",
            "dp = 2, cp = 2",
            "E0410",
            "`ulysses(d)` cannot split `d`: heads are `heads` @ ulysses(d)",
        ),
        (
            "dp: shard B\ncp: shard S via ulysses(heads)",
            "dp = 2, cp = 4",
            "E0410",
            "Ulysses over `cp` = 4 needs `kv` to divide: 2 / 4 @ ulysses(heads)",
        ),
        (
            "dp: shard B via ulysses(heads)",
            "dp = 2",
            "E0402",
            "`ulysses` moves nothing: no call needs `B` whole @ ulysses(heads)",
        ),
        (
            "dp: shard B\ncp: shard S via ulises(heads)",
            "dp = 2, cp = 2",
            "E0603",
            "unknown method `ulises` @ ulises",
        ),
        (
            "dp: shard B\ncp: shard S via ulysses(hades)",
            "dp = 2, cp = 2",
            "E0201",
            "`ulysses.heads` is a dim, not `hades` @ hades",
        ),
        (
            "dp: shard B\ndp: shard params per Block { reshard = true }",
            "dp = 2",
            "E0601",
            "`shard` has no setting `reshard` @ reshard = true",
        ),
        (
            "dp: shard B\ndp: shard grads per Block { reshard_after_forward = true }",
            "dp = 2",
            "E0414",
            "`shard grads` keeps whole parameters after forward @ reshard_after_forward = true",
        ),
        (
            "dp: shard B\ndp: shard params per Block\ndp: shard optim",
            "dp = 2",
            "E0415",
            "two rules say where parameters, gradients or optimizer state lie @ shard optim",
        ),
        (
            "dp: shard B\ndp: shard params per each Linear.weight",
            "dp = 2",
            "E0401",
            "a unit is a part; this selects parameters @ each Linear.weight",
        ),
    ],
)
def test_a_rule_that_does_not_hold_is_reported(
    layout: str, mesh: str, code: str, expected: str
) -> None:
    assert says(findings(spec(layout, mesh)), code) == expected


@pytest.mark.parametrize(
    ("layout", "code", "at"),
    [
        ("tp: stage blocks via pipeline(microbatches = 2)", "E0492", None),
        ("tp: shard params within blocks", "E0494", "blocks"),
        ("tp: shard S within blocks", "E0494", "blocks"),
        ("tp: replicate\noffload optim in blocks { to = cpu }", "E0493", "optim in blocks"),
        (
            "tp: replicate\nprecision { compute = fp8(format = e4m3) }",
            "E0491",
            "fp8(format = e4m3)",
        ),
        ("tp: replicate\nprecision { params = fp16 }", "E0491", "fp16"),
        ("tp: replicate\nprecision { store = bf16 }", "E0491", "bf16"),
    ],
)
def test_what_is_not_built_yet_ends_in_one_honest_report(
    layout: str, code: str, at: str | None
) -> None:
    finding = only(findings(spec(f"dp: shard B\n{layout}", "dp = 2, tp = 2")), code)
    assert "this version of specc" in finding.title
    if at is not None:
        assert finding.labels[0].span.text == at


def test_one_dim_is_moved_in_one_way() -> None:
    again = ULYSSES + "\ncp: shard S via ulysses(heads, repeat_kv = true)"
    finding = only(findings(spec(again, "dp = 2, cp = 2")), "E0407")
    assert finding.title == "two methods move `S` in the same parts"
    apart = (
        "dp: shard B\ncp: shard S via ulysses(heads) within blocks[0..2]\n"
        "cp: shard S via ulysses(heads, repeat_kv = true) within blocks[2..4]"
    )
    assert len(facts(spec(apart, "dp = 2, cp = 2")).layout.methods) == 2


def test_a_method_must_move_all_axes_of_its_dim() -> None:
    text = spec(ULYSSES + "\nr: shard S", "dp = 2, r = 2, cp = 2")
    assert says(findings(text), "E0410") == "`attention` needs `S` whole, and `r*cp` splits it @ S"


def test_parts_without_a_method_need_the_dim_whole() -> None:
    text = spec(ULYSSES + " within blocks[0..2]", "dp = 2, cp = 2")
    assert "`attention` needs `S` whole" in findings(text)[0].title


def test_a_dim_of_no_tensor_cannot_be_split() -> None:
    text = spec("dp: shard B\ntp: shard lonely", "dp = 2, tp = 2", more="dim lonely = 4")
    assert says(findings(text), "E0402") == "no tensor has the dim `lonely` @ lonely"


def test_indivisible_dims_show_their_declaration_and_the_next_degrees() -> None:
    finding = only(findings(spec("dp: shard B\ncp: shard S", "dp = 2, cp = 3")), "E0406")
    assert finding.labels[0].text == "8 / 3 = 2.66667"
    assert finding.labels[1].span.line == 4
    assert finding.helps[0].text == "use cp = 2 or 4, or a `S` that 3 divides"


def test_ulysses_may_repeat_kv_heads_when_that_is_said() -> None:
    layout = "dp: shard B\ncp: shard S via ulysses(heads, repeat_kv = true)"
    assert facts(spec(layout, "dp = 2, cp = 4")).layout.methods[0].settings["repeat_kv"] is True
    plain = only(findings(spec(ULYSSES, "dp = 2, cp = 4")), "E0410")
    assert next(h.text for h in plain.helps) == "use cp = 2"
    assert "repeat_kv" in plain.helps[1].text


def test_functions_that_run_over_a_split_dim_need_it_whole() -> None:
    model = MODEL.replace("return h + mlp(h)", "return h + softmax(mlp(h), over = S)")
    found = findings(spec(ULYSSES, "dp = 2, cp = 2", model=model))
    assert says(found, "E0410") == "`softmax` needs `S` whole, and `cp` splits it @ S"


def test_parts_that_contract_a_split_dim_need_it_whole() -> None:
    model = MODEL.replace(
        "  norm:   RMSNorm(d)", "  mix: Linear(S -> S)\n  norm:   RMSNorm(d)"
    ).replace(
        "return ids -> embed -> blocks",
        "x = embed(ids)\n  y = mix(x as [B, d, S]) as [B, S, d]\n  return y -> blocks",
    )
    found = findings(spec(ULYSSES, "dp = 2, cp = 2", model=model))
    assert says(found, "E0410") == "`Linear` needs `S` whole, and `cp` splits it @ S"


FLOATS = (
    "  data { x = randn, y: [B, S] = randn }\n  loss = mse(out, y)\n"
    "  optimizer = SGD(lr = 0.1)\n  steps = 1\n"
)
SCALED = "model M(x: [B, S]) -> out: [B, S] {\n  w: Param([1])\n  return x*w\n}\n"
OVER_BOTH = "dp: shard B\ncp: shard S"


def test_elementwise_work_may_be_split_anywhere() -> None:
    assert not findings(spec(OVER_BOTH, "dp = 2, cp = 2", model=SCALED, train=FLOATS))


def test_a_parameter_used_as_a_value_must_be_whole() -> None:
    model = SCALED.replace("Param([1])", "Param([S])")
    found = findings(spec(OVER_BOTH, "dp = 2, cp = 2", model=model, train=FLOATS))
    assert says(found, "E0410") == "`w` needs `S` whole, and `cp` splits it @ S"


def test_losses_need_their_classes_whole() -> None:
    train = FLOATS.replace("y: [B, S] = randn", "y: i64[B] = randint(S)").replace(
        "mse(out, y)", "cross_entropy(out, y)"
    )
    found = findings(spec(OVER_BOTH, "dp = 2, cp = 2", model=SCALED, train=train))
    assert says(found, "E0410") == "`cross_entropy` needs `S` whole, and `cp` splits it @ S"


def test_divisors_rise() -> None:
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert divisors(49) == [1, 7, 49]
    assert divisors(1) == [1]


RING = "dp: shard B\ncp: shard S via ring"


def test_the_ring_takes_more_ranks_than_heads_and_sends_what_the_plan_says() -> None:
    found = facts(spec(RING, "dp = 2, cp = 8"))
    assert [method.name for method in found.layout.methods] == ["ring"]
    sent = [one for one in collectives(found) if one.kind == "send"]
    kv, hd, local = found.sizes["kv"], found.sizes["hd"], found.sizes["S"] // 8
    each = found.sizes["B"] // 2 * local * kv * hd * 4
    calls = 4  # blocks
    assert {(one.dtype, one.bytes, one.count, one.cause) for one in sent} == {
        ("fp32", each, 2 * 2 * 7 * calls, "attention"),  # keys and values, there and back
        ("fp32", each, 2 * 8 * calls, "gradients of attention"),
    }


@pytest.mark.parametrize(
    ("window", "hops"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (8, 3)]
)
def test_keys_travel_no_further_than_a_window_reaches(window: int, hops: int) -> None:
    text = spec(RING, "dp = 1, cp = 4").replace("causal = true", f"window = {window}")
    found = facts(text)
    sent = [one for one in collectives(found) if one.kind == "send"]
    calls = 2 * found.sizes["depth"]  # keys and values
    assert sum(one.count for one in sent if one.cause == "attention") == 2 * hops * calls
    home = hops + 1 if hops else 0
    assert sum(one.count for one in sent if one.cause != "attention") == home * calls


ZIGZAG = "dp: shard B\ncp: shard S via ring(zigzag = true)"


def test_zigzag_moves_halves_before_and_after_attention() -> None:
    found = facts(spec(ZIGZAG, "dp = 2, cp = 4"))
    moved = [one for one in collectives(found) if one.kind == "all_to_all"]
    sizes = found.sizes
    tokens = sizes["B"] // 2 * sizes["S"] // 4 * sizes["hd"] * 4
    queries, keys = tokens * sizes["heads"], tokens * sizes["kv"]
    counts = {queries: 4 * 4, keys: 4 * 4}  # two of each, there and back, in four blocks
    assert {one.bytes: one.count for one in moved} == counts
    assert {one.axes for one in moved} == {("cp",)}


@pytest.mark.parametrize(
    ("settings", "mesh", "expected"),
    [
        ("causal = false", "dp = 2, cp = 4", "attention that is not causal"),
        ("causal = false", "dp = 2, cp = 1", "attention that is not causal"),
        ("window = 2", "dp = 2, cp = 4", "a window of 2"),
        ("window = 3", "dp = 2, cp = 4", None),
        ("window = 2", "dp = 2, cp = 1", None),
        ("causal = true, cap = 30.0", "dp = 2, cp = 4", None),
    ],
)
def test_zigzag_is_for_ranks_with_unequal_work(
    settings: str, mesh: str, expected: str | None
) -> None:
    found = findings(spec(ZIGZAG, mesh).replace("causal = true", settings))
    if expected is None:
        assert not found
    else:
        assert says(found, "E0419") == (
            f"`zigzag` has nothing to balance in {expected} @ ring(zigzag = true)"
        )


def test_zigzag_needs_two_halves_for_each_rank() -> None:
    finding = only(findings(spec(ZIGZAG, "dp = 2, cp = 8")), "E0406")
    assert finding.title == "`S` = 8 does not divide into two halves for each of cp = 8"
    assert finding.labels[0].text == "8 / 16 = 0.5"
    assert "16 divides, or leave `zigzag` out" in finding.helps[0].text


GRID = "dp = 1, cp = 4 { r = 2, u = 2 }"
BOTH = "dp: shard B\nr: shard S via ring\nu: shard S via ulysses(heads)"


def test_a_ring_of_groups_of_ulysses() -> None:
    found = facts(spec(BOTH, GRID))
    assert [method.axes for method in found.layout.methods] == [("r",), ("u",)]
    moved = {(one.kind, one.axes) for one in collectives(found) if one.cause == "attention"}
    assert moved == {("send", ("r",)), ("all_to_all", ("u",))}


def test_the_ring_lies_outside_of_ulysses() -> None:
    """Where `u` is the outer one, its ranks hold pieces of `S` that are no neighbours."""
    finding = only(findings(spec(BOTH, "dp = 1, cp = 4 { u = 2, r = 2 }")), "E0420")
    assert finding.title == "Ulysses over `u` gathers scattered pieces of `S`: `r` is inside"
    assert [label.span.text for label in finding.labels] == ["ulysses(heads)", "ring"]
    assert finding.helps[0].text == "put `r` before `u` in the mesh, or swap the two methods"


@pytest.mark.parametrize(
    ("layout", "code"),
    [
        ("r: shard S via ring\nu: shard S via ring", "E0407"),
        ("r: shard S via ulysses(heads)\nu: shard S via ulysses(heads)", "E0407"),
        ("cp: shard S via ring\nu: shard S via ulysses(heads)", "E0407"),
        ("r: shard S via ring\nu: shard S", "E0410"),
        ("r: shard S via ring within blocks[0]\nu: shard S via ulysses(heads)", "E0410"),
    ],
)
def test_methods_share_a_dim_only_where_they_complete_each_other(layout: str, code: str) -> None:
    assert only(findings(spec(f"dp: shard B\n{layout}", GRID)), code)


def test_no_whole_graph_is_compiled_around_the_ring() -> None:
    text = spec(RING + "\ncompile each Block { fullgraph = true }", "dp = 2, cp = 2")
    assert only(findings(text), "E0494").title == "one graph around `ring` is not built yet"
    facts(spec(RING + "\ncompile each Block", "dp = 2, cp = 2"))
    facts(spec(ULYSSES + "\ncompile each Block { fullgraph = true }", "dp = 2, cp = 2"))


CROSS = """\
model M(x: [B, S, heads*hd], m: [B, T, heads*hd]) -> y: [B, S, heads*hd] {
  out: Linear(heads*hd -> heads*hd)
  q = out(x) as [B, S, heads, hd]
  k = m as [B, T, heads, hd]
  return attention(q, k, k) as [B, S, heads*hd]
}
"""


@pytest.mark.parametrize(
    ("rule", "split"), [("shard S via ring", "S"), ("shard S, T via ring", "S")]
)
def test_the_ring_takes_keys_of_its_own_tokens_only(rule: str, split: str) -> None:
    text = f"""\
specc 1
dim S = 8, T = 8, heads = 2, hd = 4, B = 2
{CROSS}mesh {{ cp = 2 }}
layout {{ cp: {rule} }}
train {{
  data {{ x = randn, m = randn, target: [B, S, heads*hd] = randn }}
  loss      = mse(y, target)
  optimizer = SGD(lr = 0.1)
  steps     = 2
}}
"""
    found = findings(text)
    assert {finding.code for finding in found} == {"E0410"}
    assert found[0].title == f"`attention` needs `{split}` whole, and `cp` splits it"


def test_the_ring_asks_for_no_fused_kernel() -> None:
    """It is made of matrix products, so what a device's kernel cannot do is of no matter."""
    codes = [each.code for each in findings(spec(ULYSSES, "dp = 2, cp = 2"), target="musa")]
    assert "E0702" in codes
    ring = [each.code for each in findings(spec(RING, "dp = 2, cp = 2"), target="musa")]
    assert "E0702" not in ring
