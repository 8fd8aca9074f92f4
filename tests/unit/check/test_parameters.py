"""How parameters start and are optimized."""

from __future__ import annotations

from typing import Any

import pytest

from specc.plan.facts import Parameter
from tests.unit.check.specs import MODEL, TRAIN, facts, findings, only, says, spec

TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")


def parameters(rules: str = "", model: str = MODEL, **where: Any) -> dict[str, Parameter]:
    found = facts(spec(train=TRAIN + rules + "\n", model=model), **where)
    return {p.name: p for p in found.parameters}


def draws(rules: str, model: str = MODEL) -> dict[str, tuple[str, dict[str, object]]]:
    found = parameters(rules, model, sets={"depth": "1"})
    return {name: (p.draw.name, dict(p.draw.settings)) for name, p in found.items()}


def test_defaults_are_those_of_the_parts() -> None:
    found = draws("")
    assert found["embed.weight"] == ("normal", {})
    assert found["blocks.0.norm.weight"] == ("ones", {})
    assert found["blocks.0.mlp.0.weight"] == ("fan_in", {})
    assert found["blocks.0.mlp.0.bias"] == ("fan_in_bias", {})


def test_a_rule_on_parts_draws_their_matrices_only() -> None:
    found = draws("init { normal = 0.02 }")
    assert found["head.weight"] == ("normal", {"std": 0.02})
    assert found["embed.weight"] == ("normal", {"std": 0.02})
    assert found["blocks.0.mlp.0.bias"] == ("fan_in_bias", {})
    assert found["norm.weight"] == ("ones", {})


def test_a_rule_on_parameters_draws_what_it_names() -> None:
    found = draws("init each Linear.bias { constant = 0 }\ninit norm.weight { zeros = true }")
    assert found["blocks.0.mlp.2.bias"] == ("constant", {"value": 0.0})
    assert found["norm.weight"] == ("zeros", {})
    assert found["blocks.0.mlp.2.weight"] == ("fan_in", {})


def test_the_narrower_rule_wins() -> None:
    found = draws(
        "init { normal = 0.02 }\ninit each Attention.wo.weight { normal = 0.02/sqrt(2*8) }"
    )
    assert found["blocks.0.attn.wo.weight"] == ("normal", {"std": 0.005})
    assert found["blocks.0.attn.wq.weight"] == ("normal", {"std": 0.02})


def test_a_draw_may_take_several_numbers() -> None:
    assert draws("init head { trunc_normal = [0.02, 3] }")["head.weight"] == (
        "trunc_normal",
        {"std": 0.02, "cut": 3.0},
    )


def test_init_of_a_part_holds_for_its_weight_in_every_instance() -> None:
    model = MODEL.replace(
        "wo: Linear(heads*hd -> d, bias = false)", "wo: Linear(heads*hd -> d, init = zeros)"
    )
    found = parameters("init { normal = 0.02 }", model)
    assert {found[f"blocks.{i}.attn.wo.weight"].draw.name for i in range(4)} == {"zeros"}
    assert found["blocks.0.attn.wo.bias"].draw.name == "fan_in_bias"


@pytest.mark.parametrize(
    ("rules", "code", "expected"),
    [
        ("init { norml = 0.02 }", "E0603", "unknown init `norml` @ norml = 0.02"),
        ("init { }", "E0611", None),
        ("init { normal = 1, zeros = true }", "E0611", None),
        (
            "init each RMSNorm { normal = 1 }",
            "E0402",
            "this `init` reaches no parameter @ init each RMSNorm { normal = 1 }",
        ),
        ("init each Linar { normal = 1 }", "E0401", "`Linar` selects nothing in `Small` @ Linar"),
        ("init { normal = true_ }", "E0201", "unknown name `true_` in `normal.std` @ true_"),
        (
            "optimize head { weight_dcay = 0 }",
            "E0601",
            "`optimize` has no setting `weight_dcay` @ weight_dcay = 0",
        ),
        ("optimize head { optimizer = SGD(lr = 1) }", "E0494", None),
        (
            "optimize head { frozen = 1 }",
            "E0602",
            "`optimize.frozen` is `true` or `false`, not `1` @ 1",
        ),
        (
            "optimize each Linear { lr = 1 }\noptimize each Linear { lr = 2 }",
            "E0407",
            None,
        ),
    ],
)
def test_a_faulty_rule_is_reported(rules: str, code: str, expected: str | None) -> None:
    found = findings(spec(train=TRAIN + rules + "\n"))
    assert only(found, code)
    assert expected is None or says(found, code) == expected


def test_optimize_sets_what_differs_from_the_optimizer() -> None:
    found = parameters("optimize each RMSNorm, each Linear.bias { weight_decay = 0, lr = 1e-3 }")
    assert found["norm.weight"].group == (("weight_decay", 0.0),)
    assert found["blocks.0.mlp.0.bias"].group == (("weight_decay", 0.0),)
    assert found["head.weight"].group == ()


def test_optimize_reaches_all_parameters_of_a_part() -> None:
    found = parameters("optimize each Block.mlp { weight_decay = 0 }")
    grouped = sorted(name for name, p in found.items() if p.group and name.startswith("blocks.0"))
    assert grouped == [f"blocks.0.mlp.{i}.{kind}" for i in (0, 2) for kind in ("bias", "weight")]


def test_decay_of_matrices_leaves_vectors_out_unless_a_rule_says_more() -> None:
    train = TRAIN.replace(
        "AdamW(lr = 1e-3)", "AdamW(lr = 1e-3, weight_decay = 0.1, decay = matrices)"
    )
    text = spec(train=train + "optimize norm { weight_decay = 0.1 }\n")
    found = {p.name: p for p in facts(text).parameters}
    assert found["blocks.0.norm.weight"].group == (("weight_decay", 0.0),)
    assert found["norm.weight"].group == ()
    assert found["head.weight"].group == ()


def test_parameters_may_be_frozen() -> None:
    found = parameters("optimize embed { frozen = true }")
    assert [name for name, p in found.items() if p.frozen] == ["embed.weight"]


def test_something_must_be_trained() -> None:
    found = findings(spec(train=TRAIN + "optimize { frozen = true }\n"))
    assert says(found, "E0618") == "all parameters of `Small` are frozen @ Small"


def test_a_tie_is_one_tensor_that_follows_the_second() -> None:
    found = parameters(
        "init each Embedding.weight { normal = 0.5 }\noptimize embed { frozen = true }", TIED
    )
    head = found["head.weight"]
    assert (head.tied_to, head.draw.settings["std"], head.frozen) == ("embed.weight", 0.5, True)
    assert found["embed.weight"].tied_to is None


def test_rules_that_reach_only_the_follower_of_a_tie_are_reported() -> None:
    text = spec(train=TRAIN + "init head.weight { normal = 0.1 }\n", model=TIED)
    finding = only(findings(text), "E0407")
    assert finding.title.startswith("`head.weight` is tied to `embed.weight`")
    both = TRAIN + "init each Linear.weight, each Embedding.weight { normal = 0.1 }\n"
    assert not findings(spec(train=both, model=TIED))
