"""Whether one GPU of the cluster holds what a training keeps there, activations aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.plan.memory import gathered_bytes, gathered_units, host_memory, memory, ranks_of_node
from specc.program.model import PartList

if TYPE_CHECKING:
    from specc.diagnostics import Report
    from specc.plan.facts import Cluster, Facts, Unit
    from specc.plan.memory import Memory
    from specc.source import Span

GIB = 2**30


@attrs.frozen
class Need:
    """What one rank keeps at the end of a backward pass, in bytes.

    Args:
        units: that are whole then, with their bytes.
    """

    held: Memory
    units: tuple[tuple[Unit, int], ...]

    @property
    def gathered(self) -> int:
        """Bytes of all units that are whole."""
        return sum(size for _, size in self.units)

    @property
    def total(self) -> int:
        """All of it."""
        return self.held.total + self.gathered


def check_memory(facts: Facts, report: Report) -> None:
    """Report a training that cannot fit into the cluster's GPUs, whatever its activations take.

    Nothing is said where the number of ranks is not known, or the target is not the cluster's.
    """
    cluster, named = facts.cluster, facts.program.mesh.cluster if facts.program.mesh else None
    if cluster is None or named is None:
        return
    if cluster.device not in (None, facts.target.name) or not _is_world_known(facts, cluster):
        return
    _check_host(facts, cluster, named.span, report)
    need = needed(facts)
    if cluster.memory_bytes is None or need.total <= cluster.memory_bytes:
        return
    store = facts.layout.storage
    stored = "parameters are stored here" if store.shard else "every rank stores everything"
    report.error(
        "E0701",
        named.span,
        f"needs at least {_gib(need.total)} on each GPU for parameters, gradients, optimizer state "
        f"and the largest gathered unit; `{cluster.name}` has {_gib(cluster.memory_bytes)}",
        f"{_gib(cluster.memory_bytes)} each",
        also=[(store.rule, stored)] if store.rule is not None else [],
        notes=[_breakdown(facts, need), "activations are not counted"],
        helps=_ways_out(facts, need, cluster.memory_bytes),
    )


def _check_host(facts: Facts, cluster: Cluster, span: Span, report: Report) -> None:
    """Report what ranks of one node move to the host and its memory cannot hold."""
    offload, ranks = facts.layout.offload, ranks_of_node(facts)
    if offload is None or ranks is None or cluster.host_bytes is None:
        return
    held = host_memory(facts)
    if held.total * ranks <= cluster.host_bytes:
        return
    report.error(
        "E0701",
        span,
        f"needs at least {_gib(held.total * ranks)} in the host memory of a node for what is moved "
        f"there; `{cluster.name}` has {_gib(cluster.host_bytes)}",
        f"{_gib(cluster.host_bytes)} a node",
        also=[(offload.rule, "moved here")],
        notes=[f"each of {ranks} ranks: {_held(facts, held)}"],
        helps=["move less of it", "shard over more axes, or more ranks of other nodes"],
    )


def needed(facts: Facts) -> Need:
    """What the first rank, which holds the largest shards, keeps at the end of a backward pass."""
    units = tuple((unit, gathered_bytes(facts, unit)) for unit in gathered_units(facts))
    return Need(memory(facts), units)


def _is_world_known(facts: Facts, cluster: Cluster) -> bool:
    is_stated = cluster.nodes is not None and cluster.gpus is not None
    return is_stated or facts.situation.world is not None or not facts.mesh.world_is_open


def _gib(count: int) -> str:
    """Enough digits to tell a need from what is there."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / GIB:.2g} GiB"


def _breakdown(facts: Facts, need: Need) -> str:
    types = {module.path: module.type or module.path for module in facts.model.walk()}
    words = [_held(facts, need.held)]
    for unit, size in need.units:
        what = "the rest" if unit.modules == ("",) else types[unit.modules[0]]
        words.append(f"gathered {what} {_gib(size)}")
    return ", ".join(words)


def _held(facts: Facts, held: Memory) -> str:
    return (
        f"parameters {_gib(held.weights)}, gradients {_gib(held.gradients)}, "
        f"{facts.training.optimizer.name} {_gib(held.optimizer)}"
    )


# ------------------------------------------------------------------------------------ ways out


def _ways_out(facts: Facts, need: Need, limit: int) -> list[str]:
    store, mesh = facts.layout.storage, facts.mesh
    idle = [axis.name for axis in mesh.axes if axis.name not in store.shard and axis.size.value > 1]
    ways: list[str] = []
    if idle:
        axes = "*".join(axis.name for axis in mesh.axes if axis.size.value > 1)
        ways.append(f"shard over more axes: `{axes}: shard params{_per(facts)}`")
    if store.shard and all(unit.modules == ("",) for unit in store.units) and _per(facts):
        ways.append(f"gather less at once: `shard params{_per(facts)}`")
    if any(unit.precision.params == "fp32" for unit, _ in need.units):
        ways.append("compute in less: `precision { params = bf16 }` halves what is gathered")
    room = limit - need.gathered
    if store.shard and room > 0:
        degree = mesh.degree(store.shard)
        wanted = -(-need.held.total * degree // room)
        axes = "*".join(store.shard)
        ways.append(f"more ranks: at least {wanted} along `{axes}`, which has {degree}")
    return [*ways, *_to_host(facts, need, limit)]


def _to_host(facts: Facts, need: Need, limit: int) -> list[str]:
    """The smaller of the two moves to the host, if it leads out."""
    if facts.layout.offload is not None or facts.target.is_host:
        return []
    what = f"{facts.training.optimizer.name}'s state"
    if need.total - need.held.optimizer <= limit and need.held.optimizer:
        return [f"keep {what} on the host, which steps more slowly: `offload optim {{ to = cpu }}`"]
    if need.gathered <= limit and need.units:
        return ["keep it on the host, which steps more slowly: `offload { to = cpu }`"]
    return []


def _per(facts: Facts) -> str:
    """` per Block`, for the part that the model repeats first; empty if it repeats none."""
    for module in facts.model.walk():
        if isinstance(module.what, PartList) and module.children and module.children[0].type:
            return f" per {module.children[0].type}"
    return ""
