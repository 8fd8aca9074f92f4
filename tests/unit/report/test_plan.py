"""Folding, placements and memory of a Plan."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

import specc
from specc.plan.facts import Facts
from specc.plan.holding import holding, local_sizes, shard_index
from specc.plan.memory import memory
from specc.report.folding import folded
from specc.report.holding import holding_text
from specc.report.notation import parameter_shape, split_by, value_shape
from specc.report.plan import plan_text
from tests.repository import ROOT
from tests.unit.check.specs import spec

SPECS = ROOT / "specs"


def facts_of(name: str, overrides: tuple[str, ...] = ()) -> Facts:
    return specc.load(SPECS / f"{name}.spec", target="cpu", overrides=overrides).facts()


@pytest.fixture(scope="module")
def longctx() -> Facts:
    return facts_of("longctx")


def test_elements_of_a_list_fold_and_elements_of_a_chain_do_not() -> None:
    facts = facts_of("tinyllm")
    names = [p.name for p in facts.parameters]
    folds = {fold.pattern: len(fold.paths) for fold in folded(facts.model, names, lambda _: 0)}

    assert folds["blocks.*.mlp.0.weight"] == 8
    assert folds["blocks.*.mlp.2.weight"] == 8
    assert folds["head.weight"] == 1
    assert sum(folds.values()) == len(names)


def test_what_differs_is_not_folded() -> None:
    facts = facts_of("tinyllm")
    names = [f"blocks.{index}.attn.weight" for index in range(8)]
    folds = folded(facts.model, names, lambda name: name == names[3])

    assert [(fold.pattern, len(fold.paths)) for fold in folds] == [
        ("blocks.*.attn.weight", 7),
        (names[3], 1),
    ]


@pytest.mark.parametrize(
    ("entry", "axes", "text"),
    [
        ((("B",),), ("dp",), "B/dp"),
        ((("heads", "hd"),), ("dp", "cp"), "(heads*hd)/(dp*cp)"),
        ((("q",), ("k",)), ("tp",), "(q + k)/tp"),
        ((("d",),), (), "d"),
    ],
)
def test_an_entry_with_the_axes_that_split_it(
    entry: tuple[tuple[str, ...], ...], axes: tuple[str, ...], text: str
) -> None:
    assert split_by(entry, axes) == text


def test_values_and_parameters_are_split_by_different_rules(longctx: Facts) -> None:
    ids = longctx.training.fields[0]
    embed = next(p for p in longctx.parameters if p.name == "embed.weight")

    assert value_shape(longctx, ids.type) == "[B/dp, S/cp]"
    assert parameter_shape(longctx, embed) == "[vocab/(dp*cp), d]"


@pytest.mark.parametrize("name", ["toy_ddp", "tinyllm", "longctx", "hsdp", "zero1", "tied"])
def test_shares_of_all_ranks_make_the_whole(name: str) -> None:
    facts = facts_of(name)
    store = facts.layout.storage
    for parameter in facts.parameters:
        shares = {
            shard_index(facts, rank): local_sizes(facts, parameter, rank)
            for rank in range(facts.mesh.world)
        }
        is_whole = store.kind in ("ddp", "replicate")
        total = sum(prod(sizes) for sizes in shares.values())

        assert total == parameter.numel * (len(shares) if is_whole else 1)


def test_uneven_rows_leave_less_for_the_last_ranks() -> None:
    facts = facts_of("tinyllm", overrides=("vocab=10", "mesh.dp=4"))
    bias = next(p for p in facts.parameters if p.name == "head.bias")

    assert [local_sizes(facts, bias, rank) for rank in range(4)] == [(3,), (3,), (3,), (1,)]


def test_memory_is_weights_gradients_and_state(longctx: Facts) -> None:
    weights = 4 * sum(tensor.elements for tensor in holding(longctx))
    used = memory(longctx)

    assert (used.weights, used.gradients, used.optimizer) == (weights, weights, 2 * weights)
    assert used.total == 4 * weights


def test_parts_inside_an_extern_fold_with_it() -> None:
    facts = facts_of("extern")
    names = [p.name for p in facts.parameters if "mixer" in p.name]
    folds = folded(facts.model, names, lambda _: 0)

    assert [fold.pattern for fold in folds] == [
        "blocks.*.mixer.inside.weight",
        "blocks.*.mixer.outside.weight",
    ]


def test_a_tied_tensor_is_held_once() -> None:
    facts = facts_of("tied")
    names = {tensor.name for tensor in holding(facts)}
    tied = [p for p in facts.parameters if p.tied_to is not None]

    assert tied
    assert all(p.name not in names and p.tied_to in names for p in tied)


def rows(text: str, word: str) -> list[str]:
    """The rows of a Plan under one word, without it."""
    lines = iter(text.splitlines())
    first = next(line for line in lines if line.strip().startswith(f"{word} "))
    column = first.index(first.strip().partition(" ")[2].strip())
    found = [first[column:]]
    for line in lines:
        if line[:column].strip():
            break
        found.append(line[column:])
    return found


def offloaded(rule: str, target: str, tmp_path: Path) -> Facts:
    cluster = "cluster box { device = cuda, nodes = 2, gpus = 4, host_memory = 1GiB }\n"
    text = spec(f"dp: shard B\ndp: shard params per Block\n{rule}", "").replace(
        "mesh {  }", "mesh on box { dp = 8 }"
    )
    path = tmp_path / "t.spec"
    path.write_text(text.replace("specc 1\n", f"specc 1\n{cluster}"))
    return specc.load(path, target=target).facts()


def test_a_plan_says_what_lies_on_the_host_of_a_rank_and_of_a_node(tmp_path: Path) -> None:
    facts = offloaded("offload each Block { to = cpu }", "cuda", tmp_path)
    text = plan_text(facts)

    (row,) = rows(text, "host")
    assert row.startswith("22.8 KiB a rank, 91.0 KiB a node of 1.00 GiB: weights 5.69 KiB, ")
    assert "4 x Block: 2,912 parameters, on the host, gathered as" in text
    held = holding_text(facts, holding(facts), is_real=False)
    assert "with gradients and AdamW 2.03 KiB on the device, 22.8 KiB on the host\n" in held


def test_a_plan_says_where_the_optimizer_steps(tmp_path: Path) -> None:
    text = plan_text(offloaded("offload optim { to = cpu }", "cuda", tmp_path))

    assert rows(text, "host")[1:] == ["AdamW steps there, on copies of weights and gradients"]
    assert "AdamW 0 B" in rows(text, "memory")[0]


def test_a_plan_says_that_nothing_moves_where_the_device_is_the_host(tmp_path: Path) -> None:
    text = plan_text(offloaded("offload { to = cpu }", "cpu", tmp_path))

    assert rows(text, "host") == ["nothing is moved: on cpu the device is the host"]
    assert "on the host" not in text
