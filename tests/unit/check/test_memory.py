"""Trainings that cannot fit into the cluster's GPUs are refused; the figures are the formula's."""

from typing import Any

import pytest

from specc.check.memory import needed
from tests.unit.check.specs import DIMS, facts, findings, only, spec

GIB = 2**30
CLUSTER = "cluster box { device = cpu, nodes = 1, gpus = 4, memory = 1GiB }"
BIG = DIMS.replace("d = 16", "d = 1024").replace("vocab = 32", "vocab = 32_000")


def big(layout: str = "dp: shard B", mesh: str = "dp = 4", cluster: str = CLUSTER) -> str:
    """The small transformer grown to 110 million parameters, on a cluster of small GPUs."""
    text = spec(layout, "", dims=BIG.replace("dim B = 2*dp", "dim B = 8*dp"))
    return text.replace("specc 1\n", f"specc 1\n{cluster}\n").replace(
        "mesh {  }", f"mesh on box {{ {mesh} }}"
    )


def test_what_every_rank_stores_is_four_fp32_numbers_a_parameter() -> None:
    text = big().replace("memory = 1GiB", "memory = 64GiB")
    need = needed(facts(text))
    elements = sum(parameter.numel for parameter in facts(text).parameters)
    assert (need.held.weights, need.held.gradients) == (4 * elements, 4 * elements)
    assert (need.held.optimizer, need.gathered) == (8 * elements, 0)


def test_shards_and_what_is_gathered_in_bf16_are_counted() -> None:
    layout = "dp: shard B\ndp: shard params per Block\nprecision { params = bf16 }"
    found = facts(big(layout).replace("memory = 1GiB", "memory = 64GiB"))
    need = needed(found)
    elements = sum(parameter.numel for parameter in found.parameters)
    assert need.held.total == 16 * elements // 4  # every first dim divides over four ranks
    block = [p for p in found.parameters if p.name.startswith("blocks.0.")]
    rest = [p for p in found.parameters if not p.name.startswith("blocks.")]
    assert need.gathered == 2 * sum(p.numel for p in [*block, *rest])


def test_too_much_is_refused_with_the_parts_of_it_and_ways_out() -> None:
    finding = only(findings(big()), "E0701")
    assert finding.title == (
        "needs at least 1.7 GiB on each GPU for parameters, gradients, optimizer state and the "
        "largest gathered unit; `box` has 1.0 GiB"
    )
    assert finding.labels[0].span.text == "box"
    assert finding.notes == (
        "parameters 0.42 GiB, gradients 0.42 GiB, AdamW 0.83 GiB",
        "activations are not counted",
    )
    assert [way.text for way in finding.helps] == [
        "shard over more axes: `dp: shard params per Block`"
    ]


def test_the_way_out_that_is_named_leads_out() -> None:
    sharded = big("dp: shard B\ndp: shard params per Block\nprecision { params = bf16 }")
    assert findings(sharded) == ()
    fp32 = big("dp: shard B\ndp: shard params per Block").replace("1GiB", "700MiB")
    ways = [way.text for way in only(findings(fp32), "E0701").helps]
    assert ways[0] == "compute in less: `precision { params = bf16 }` halves what is gathered"
    assert ways[1].startswith("more ranks: at least ")
    assert ways[1].endswith(" along `dp`, which has 4")
    ranks = int(ways[1].split()[4])
    more = fp32.replace("gpus = 4", f"gpus = {ranks}").replace("dp = 4 }", f"dp = {ranks} }}")
    assert findings(more) == ()


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("memory = 1GiB", "memory = 2GiB", {}),  # fits
        (", memory = 1GiB", "", {}),  # nobody knows the memory
        ("device = cpu", "device = cuda", {"target": "cpu"}),  # a laptop that tries it out
    ],
)
def test_what_fits_or_is_not_known_is_no_finding(old: str, new: str, where: Any) -> None:
    assert findings(big().replace(old, new), **where) == ()


def test_an_unknown_number_of_ranks_is_not_judged() -> None:
    open_world = big(mesh="dp = world").replace("nodes = 1, gpus = 4, ", "")
    assert findings(open_world) == ()
    only(findings(open_world, world=4), "E0701")


def on_gpus(
    rule: str, cluster: str, layout: str = "dp: shard B\ndp: shard params per Block"
) -> str:
    more = f"cluster box {{ device = cuda, nodes = 1, gpus = 4, {cluster} }}"
    return big(f"{layout}\n{rule}", cluster=more)


def test_what_lies_on_the_host_does_not_fill_the_device() -> None:
    assert only(findings(on_gpus("", "memory = 512MiB"), target="cuda"), "E0701")
    for rule in ("offload { to = cpu }", "offload optim { to = cpu }"):
        assert findings(on_gpus(rule, "memory = 512MiB"), target="cuda") == ()


def test_the_smaller_move_that_leads_out_is_named() -> None:
    def ways(memory: str) -> list[str]:
        finding = only(findings(on_gpus("", f"memory = {memory}"), target="cuda"), "E0701")
        return [way.text for way in finding.helps]

    assert ways("512MiB")[-1] == (
        "keep AdamW's state on the host, which steps more slowly: `offload optim { to = cpu }`"
    )
    assert ways("300MiB")[-1] == (
        "keep it on the host, which steps more slowly: `offload { to = cpu }`"
    )
    assert not any("offload" in way for way in ways("100MiB"))


def test_the_ranks_of_a_node_share_its_host() -> None:
    rule = "offload { to = cpu }"
    assert findings(on_gpus(rule, "host_memory = 1750MiB"), target="cuda") == ()
    finding = only(findings(on_gpus(rule, "host_memory = 1638MiB"), target="cuda"), "E0701")
    assert finding.title == (
        "needs at least 1.7 GiB in the host memory of a node for what is moved there; `box` has "
        "1.6 GiB"
    )
    assert [label.text for label in finding.labels] == ["1.6 GiB a node", "moved here"]
    assert finding.notes == (
        "each of 4 ranks: parameters 0.1 GiB, gradients 0.1 GiB, AdamW 0.21 GiB",
    )
