"""What a training takes on one rank, as far as the Plan knows it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import attrs

from specc.plan.holding import STORED_BYTES, HeldTensor, gathered_sizes, holding
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specc.plan.facts import Facts, Unit

ELEMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


@attrs.frozen
class Memory:
    """Bytes of one rank, on its device or on the host; activations not counted."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.gradients + self.optimizer


def memory(facts: Facts, held: Sequence[HeldTensor] | None = None) -> Memory:
    """Bytes of weights, gradients and optimizer state on the first rank's device.

    Args:
        held: what a built model holds; by default what the Plan says.
    """
    tensors = holding(facts) if held is None else held
    offload = facts.layout.offload
    if offload is None:
        return _memory(facts, tensors)
    there = [tensor for tensor in tensors if tensor.name not in offload.parameters]
    found = _memory(facts, there)
    return attrs.evolve(found, optimizer=0) if offload.state else found


def host_memory(facts: Facts, held: Sequence[HeldTensor] | None = None) -> Memory:
    """Bytes that the first rank keeps in the memory of the host.

    For parameters that lie there, them and what belongs to them; for the optimizer state alone,
    also the copies of weights and gradients that the step works on. Both are pinned, and torch
    rounds pinned blocks up to powers of two (CachingHostAllocator), which is not counted.

    Args:
        held: what a built model holds; by default what the Plan says.
    """
    tensors = holding(facts) if held is None else held
    offload = facts.layout.offload
    if offload is None:
        return _memory(facts, ())
    if offload.state:
        trained = _trained(facts)
        return _memory(facts, [tensor for tensor in tensors if tensor.name in trained])
    return _memory(facts, [tensor for tensor in tensors if tensor.name in offload.parameters])


def ranks_of_node(facts: Facts) -> int | None:
    """How many ranks share a host; None where the mesh names no cluster that says so."""
    gpus = facts.cluster.gpus if facts.cluster is not None else None
    return None if gpus is None else min(gpus, facts.mesh.world)


def _memory(facts: Facts, tensors: Sequence[HeldTensor]) -> Memory:
    """Bytes of these tensors with their gradients and optimizer state."""
    trained = _trained(facts)
    chosen = facts.training.optimizer
    state_bytes: int = find("optimizers", chosen.name).state_bytes(chosen.settings)
    elements = sum(tensor.elements for tensor in tensors if tensor.name in trained)
    return Memory(
        weights=sum(tensor.bytes for tensor in tensors),
        gradients=elements * STORED_BYTES,
        optimizer=elements * state_bytes,
    )


def _trained(facts: Facts) -> set[str]:
    """Names of the parameters that have gradients."""
    return {p.name for p in facts.parameters if p.trained and not p.frozen}


def gathered_units(facts: Facts) -> tuple[Unit, ...]:
    """Units that are whole together when backward ends: the root, and the largest of the others.

    FSDP2 keeps the root whole from its forward to the end of backward, and gathers the others one
    after the other.

    Source: torch.distributed.fsdp.fully_shard, `reshard_after_forward` of the root.
    """
    units = facts.layout.storage.units
    root = [unit for unit in units if unit.modules == ("",)]
    others = [unit for unit in units if unit.modules != ("",)]
    largest = max(others, key=lambda unit: gathered_bytes(facts, unit), default=None)
    return (*root, *([largest] if largest is not None else []))


def gathered_bytes(facts: Facts, unit: Unit) -> int:
    """Bytes of a unit's parameters when they are whole, in the dtype that it computes in."""
    named = {p.name: p for p in facts.parameters}
    elements = sum(prod(gathered_sizes(facts, named[name])) for name in unit.parameters)
    return elements * ELEMENT_BYTES[unit.precision.params]
