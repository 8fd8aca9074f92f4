"""`offload` rules: what they move, and what is wrong with them."""

from __future__ import annotations

import pytest

from specc.plan.facts import Facts
from specc.plan.hashes import hashes
from specc.plan.memory import host_memory, memory
from tests.unit.check.specs import MODEL, TRAIN, facts, findings, only, says, spec

FSDP = "dp: shard B\ndp: shard params per Block"
TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")


def on_gpu(rules: str, layout: str = FSDP, **more: str) -> Facts:
    return facts(spec(f"{layout}\n{rules}", **more), target="cuda")


def moved(found: Facts) -> list[tuple[str, ...]]:
    """Modules of the units on the host."""
    return [unit.modules for unit in found.layout.storage.units if unit.on_host]


def test_without_a_selector_everything_is_moved() -> None:
    found = on_gpu("offload { to = cpu }")
    assert len(moved(found)) == len(found.layout.storage.units) == 5
    assert found.layout.offload is not None
    assert found.layout.offload.parameters == {p.name for p in found.parameters}


def test_a_selector_moves_the_units_inside() -> None:
    assert moved(on_gpu("offload blocks[0..2] { to = cpu }")) == [("blocks.0",), ("blocks.1",)]
    assert moved(on_gpu("offload each Block except blocks[1..4] { to = cpu }")) == [("blocks.0",)]


def test_rules_may_share_a_unit_between_them() -> None:
    found = on_gpu("offload embed { to = cpu }\noffload norm, head { to = cpu }")
    assert moved(found) == [("",)]


def test_either_side_of_a_tie_is_the_whole_of_it() -> None:
    left = on_gpu("offload head, norm { to = cpu }", model=TIED)
    right = on_gpu("offload embed, norm { to = cpu }", model=TIED)
    assert moved(left) == moved(right) == [("",)]
    assert hashes(left) == hashes(right)


def test_a_unit_of_another_precision_moves_on_its_own() -> None:
    rules = "precision { params = bf16 }\nprecision each RMSNorm { params = fp32 }\n"
    found = on_gpu(f"{rules}offload blocks[0].norm {{ to = cpu }}")
    assert moved(found) == [("blocks.0.norm",)]


def test_without_a_storage_rule_units_are_freed_after_forward() -> None:
    store = on_gpu("offload { to = cpu }", "dp: shard B").layout.storage
    assert store.kind == "replicate"
    assert [unit.reshard for unit in store.units] == [True] * 4 + [None]


def test_the_optimizer_state_moves_under_any_storage() -> None:
    for layout in ("dp: shard B", FSDP, "dp: shard B, grads"):
        found = on_gpu("offload optim { to = cpu }", layout)
        assert moved(found) == []
        assert found.layout.offload is not None
        assert found.layout.offload.state


@pytest.mark.parametrize("rule", ["offload { to = cpu }", "offload optim { to = cpu }"])
def test_where_the_device_is_the_host_nothing_changes(rule: str) -> None:
    for layout in ("dp: shard B", FSDP):
        here, plain = facts(spec(f"{layout}\n{rule}")), facts(spec(layout))
        assert here.layout.storage == plain.layout.storage
        assert hashes(here) == hashes(plain)
        assert host_memory(here).total == 0


@pytest.mark.parametrize("rule", ["offload { to = cpu }", "offload optim { to = cpu }"])
def test_it_is_the_same_model_and_mathematics_and_another_run(rule: str) -> None:
    with_rule, plain = hashes(on_gpu(rule)), hashes(on_gpu(""))
    assert (with_rule.model, with_rule.layout) == (plain.model, plain.layout)
    assert with_rule.numerics == plain.numerics
    assert with_rule.run != plain.run


def test_what_is_moved_is_counted_on_the_host_and_not_on_the_device() -> None:
    plain, everything = memory(on_gpu("")), on_gpu("offload { to = cpu }")
    assert (memory(everything).total, host_memory(everything)) == (0, plain)
    blocks = on_gpu("offload each Block { to = cpu }")
    assert memory(blocks).total + host_memory(blocks).total == plain.total
    state = on_gpu("offload optim { to = cpu }")
    assert memory(state).total == plain.weights + plain.gradients
    assert host_memory(state) == plain  # copies of weights and gradients, and the state


def test_frozen_parameters_have_no_state_to_move() -> None:
    train = TRAIN + "optimize embed { frozen = true }\n"
    state = host_memory(on_gpu("offload optim { to = cpu }", train=train))
    everything = host_memory(on_gpu("offload { to = cpu }", train=train))
    assert state.weights < everything.weights
    assert (state.gradients, state.optimizer) == (everything.gradients, everything.optimizer)


@pytest.mark.parametrize(
    ("rules", "code", "expected"),
    [
        ("offload { to = disk }", "E0603", "`offload.to` cannot be `disk` @ disk"),
        ("offload each Block", "E0610", "`offload` needs `to` @ offload each Block"),
        (
            "offload { to = cpu, pinned = true }",
            "E0601",
            "`offload` has no setting `pinned` @ pinned = true",
        ),
        ("offload each Blok { to = cpu }", "E0401", "`Blok` selects nothing in `Small` @ Blok"),
        (
            "offload each GELU { to = cpu }",
            "E0402",
            "this `offload` reaches no parameter @ offload each GELU { to = cpu }",
        ),
        (
            "offload embed { to = cpu }",
            "E0421",
            (
                "`embed.weight` is gathered together with 2 parameters that stay on the device @ "
                "offload embed { to = cpu }"
            ),
        ),
        (
            "offload each Attention { to = cpu }",
            "E0421",
            (
                "`blocks[0].attn.wq.weight` is gathered together with 5 parameters that stay on "
                "the device @ offload each Attention { to = cpu }"
            ),
        ),
        (
            "offload optim in blocks { to = cpu }",
            "E0493",
            (
                "this version of specc moves the optimizer state of all parameters, or none of it"
                " @ optim in blocks"
            ),
        ),
        (
            "offload optim, each Block { to = cpu }",
            "E0493",
            (
                "this version of specc moves the optimizer state of parameters on the device, or "
                "some parameters with theirs, not both @ offload optim, each Block { to = cpu }"
            ),
        ),
        (
            "offload { to = cpu }\noffload optim { to = cpu }",
            "E0402",
            (
                "the optimizer state of parameters on the host lies there anyhow @ "
                "offload optim { to = cpu }"
            ),
        ),
        (
            "offload blocks[0] { to = cpu }\noffload each Block { to = cpu }",
            "E0402",
            "other rules move all of this already @ offload blocks[0] { to = cpu }",
        ),
        (
            "offload optim { to = cpu }\noffload  optim { to = cpu }",
            "E0402",
            "other rules move all of this already @ offload  optim { to = cpu }",
        ),
    ],
)
@pytest.mark.parametrize("target", ["cpu", "cuda", "musa"])
def test_a_faulty_rule_is_reported(target: str, rules: str, code: str, expected: str) -> None:
    found = findings(spec(f"{FSDP}\n{rules}"), target=target)
    assert says(found, code) == expected


def test_an_optimizer_without_state_has_none_to_move() -> None:
    rule = f"{FSDP}\noffload optim {{ to = cpu }}"
    train = TRAIN.replace("AdamW(lr = 1e-3)", "SGD(lr = 0.1)")
    finding = only(findings(spec(rule, train=train), target="cuda"), "E0402")
    assert finding.title == "`SGD` keeps no state with these settings"
    assert findings(spec(rule, train=train.replace("0.1", "0.1, momentum = 0.9"))) == ()


def test_a_torn_unit_is_shown_with_ways_out() -> None:
    finding = only(findings(spec(f"{FSDP}\noffload embed {{ to = cpu }}")), "E0421")
    assert finding.notes == ("not moved: norm.weight, head.weight",)
    assert [way.text for way in finding.helps] == [
        "select the whole unit, all that no other unit holds",
        "or make it a unit: `shard params per .., embed`",
    ]
    assert moved(on_gpu("offload embed { to = cpu }", f"{FSDP}, embed")) == [("embed",)]
