"""`precision`, `recompute` and `compile` rules."""

from __future__ import annotations

import pytest

from specc.plan.facts import Precision
from tests.unit.check.specs import facts, findings, only, says, spec


def precision(rules: str, path: str) -> Precision:
    found = facts(spec(f"dp: shard B\n{rules}"))
    return next(m.precision for m in found.model.walk() if m.path == path)


def test_everything_is_fp32_unless_said() -> None:
    assert precision("", "head") == Precision("fp32", None, "fp32")


def test_parts_inside_inherit_and_the_narrower_rule_wins_property_by_property() -> None:
    rules = "precision { params = bf16, reduce = fp32 }\nprecision each RMSNorm { compute = fp32 }"
    assert precision(rules, "blocks.0.attn.wq") == Precision("bf16", None, "fp32")
    assert precision(rules, "blocks.0.norm") == Precision("bf16", "fp32", "fp32")
    assert precision(rules, "blocks.0") == Precision("bf16", None, "fp32")


def test_a_compute_dtype_that_says_the_same_is_none() -> None:
    assert precision("precision { params = bf16, compute = bf16 }", "head").compute is None


def test_the_order_of_rules_does_not_matter() -> None:
    one = "precision blocks { params = fp32 }\nprecision { params = bf16 }"
    two = "precision { params = bf16 }\nprecision blocks { params = fp32 }"
    for path in ("head", "blocks.1.mlp.0"):
        assert precision(one, path) == precision(two, path)
    assert precision(one, "head").params == "bf16"


def test_rules_that_merely_overlap_and_disagree_are_an_error() -> None:
    rules = (
        "precision each Linear in blocks[0..3] { params = fp32 }\n"
        "precision blocks[2..4] { params = bf16 }"
    )
    finding = only(findings(spec(f"dp: shard B\n{rules}")), "E0407")
    assert finding.title.startswith("two rules set `precision.params` differently for ")
    assert [label.text for label in finding.labels] == ["bf16 here", "fp32 here"]
    assert "blocks[2].attn.wk" in finding.notes[0]
    assert finding.notes[1] == "neither selects a strict subset of the other, so neither wins"


def test_rules_that_overlap_and_agree_are_fine() -> None:
    rules = "precision blocks[0..3] { params = bf16 }\nprecision blocks[2..4] { params = bf16 }"
    assert precision(rules, "blocks.2").params == "bf16"


def test_equal_selections_with_two_values_are_an_error() -> None:
    rules = "precision blocks { params = bf16 }\nprecision blocks { params = fp32 }"
    assert only(findings(spec(f"dp: shard B\n{rules}")), "E0407")


def test_one_parameter_may_have_a_precision_while_nothing_is_sharded_by_units() -> None:
    rules = "precision each Linear.bias { compute = fp32 }"
    found = facts(spec(f"dp: shard B\n{rules}"))
    assert {p.precision.params for p in found.parameters} == {"fp32"}


@pytest.mark.parametrize(
    ("rule", "code", "expected"),
    [
        (
            "precision { param = bf16 }",
            "E0601",
            "`precision` has no setting `param` @ param = bf16",
        ),
        (
            "precision { output = fp32 }",
            "E0601",
            "`precision` has no setting `output` @ output = fp32",
        ),
        ("precision { params = bf61 }", "E0603", "`precision.params` cannot be `bf61` @ bf61"),
        ("precision { params = 16 }", "E0602", "`precision.params` is a word, not `16` @ 16"),
        (
            "precision blocks { matmul = tf32 }",
            "E0494",
            "`matmul` holds for the whole run, not for some parts @ matmul = tf32",
        ),
        (
            "recompute each Block { keeep = [h] }",
            "E0601",
            "`recompute` has no setting `keeep` @ keeep = [h]",
        ),
        (
            "recompute each Block { keep = h }",
            "E0602",
            "`recompute.keep` is a list of names, not `h` @ h",
        ),
        (
            "recompute each Block { keep = [hh] }",
            "E0402",
            "`Block` has no value or part `hh` that could be kept @ hh",
        ),
        (
            'compile each Block { mode = "reduce_overhead" }',
            "E0603",
            '`compile.mode` cannot be `reduce_overhead` @ "reduce_overhead"',
        ),
        (
            "compile each Block { fullgraph = 1 }",
            "E0602",
            "`compile.fullgraph` is `true` or `false`, not `1` @ 1",
        ),
        (
            "compile each Block\ncompile each Attention",
            "E0417",
            "`Attention` is compiled inside a part that is compiled @ compile each Attention",
        ),
    ],
)
def test_a_faulty_rule_is_reported(rule: str, code: str, expected: str) -> None:
    found = findings(spec(f"dp: shard B\n{rule}"), sets={"depth": "1"})
    assert says(found, code) == expected


def test_recompute_may_keep_values_and_parts() -> None:
    found = facts(
        spec("dp: shard B\nrecompute each Block { keep = [h, attn] }\nrecompute blocks[0]")
    )
    kept = [m.recompute.keep for m in found.model.walk() if m.recompute]
    assert kept == [(), ("h", "attn"), ("h", "attn"), ("h", "attn")]


@pytest.mark.parametrize("rule", ["recompute", "recompute each GELU", "recompute blocks[0].mlp[2]"])
def test_what_no_block_calls_is_not_recomputed_in_silence(rule: str) -> None:
    assert only(findings(spec(f"dp: shard B\n{rule}")), "E0494").labels[0].span.text == rule


@pytest.mark.parametrize(
    "rule",
    [
        "precision each Linear { compute = bf16 }",
        "precision { params = bf16, compute = fp32 }",
        "precision { params = bf16 }\nprecision each Attention { compute = fp32 }",
        "precision each RMSNorm { compute = bf16 }",
    ],
)
def test_arithmetic_that_no_part_offers_is_refused(rule: str) -> None:
    found = findings(spec(f"dp: shard B\n{rule}"), sets={"depth": "1"})
    assert only(found, "E0491")


def test_compile_has_a_mode_and_defaults() -> None:
    rules = 'compile each Block { mode = "max-autotune", dynamic = false }\ncompile head'
    found = [
        m for m in facts(spec(f"dp: shard B\n{rules}"), target="cuda").model.walk() if m.compile
    ]
    assert [
        (m.path, m.compile.mode, m.compile.fullgraph, m.compile.dynamic) for m in found if m.compile
    ][-2:] == [
        ("blocks.3", "max-autotune", False, False),
        ("head", None, False, None),
    ]


def test_tf32_is_said_for_the_whole_run() -> None:
    assert facts(spec("dp: shard B\nprecision { matmul = tf32 }")).training.matmul == "tf32"
    assert facts(spec()).training.matmul == "fp32"


def test_checks_of_a_layout_are_evaluated() -> None:
    found = findings(spec('dp: shard B\ncheck B % 3 == 0, "thirds"'))
    assert says(found, "E0234") == "`B % 3 == 0` does not hold: thirds @ B % 3 == 0"
