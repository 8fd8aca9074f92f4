"""What one rank holds of the model: every tensor with its shape there."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import attrs

from specc.plan.tensor import parameter_dim

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Parameter

STORED_BYTES = 4
"""Weights, gradients and optimizer state are kept in fp32."""


@attrs.frozen
class HeldTensor:
    """One parameter or buffer as a rank holds it.

    Args:
        name: state-dict name.
        sizes: of the whole tensor.
        local_sizes: of this rank's part.
        element_bytes: as stored.
    """

    name: str
    sizes: tuple[int, ...]
    local_sizes: tuple[int, ...]
    element_bytes: int = STORED_BYTES

    @property
    def elements(self) -> int:
        """Elements on this rank."""
        return prod(self.local_sizes)

    @property
    def bytes(self) -> int:
        """Bytes on this rank."""
        return self.elements * self.element_bytes


def holding(facts: Facts, rank: int = 0) -> tuple[HeldTensor, ...]:
    """Every tensor that has storage of its own, as the Plan places it on a rank."""
    return tuple(
        HeldTensor(p.name, p.sizes, local_sizes(facts, p, rank))
        for p in facts.parameters
        if p.tied_to is None
    )


def local_sizes(facts: Facts, parameter: Parameter, rank: int = 0) -> tuple[int, ...]:
    """Sizes of a rank's part: FSDP2 cuts the first dim into equal chunks, the last ones shorter.

    Source: torch.distributed.tensor, Shard; torch.chunk.
    """
    store, sizes = facts.layout.storage, gathered_sizes(facts, parameter)
    if not parameter.trained or store.kind in ("ddp", "replicate") or not sizes:
        return sizes
    degree = facts.mesh.degree(store.shard)
    rows = sizes[0]
    chunk = -(-rows // degree)
    first = min(rows, chunk * shard_index(facts, rank))
    return (min(chunk, rows - first), *sizes[1:])


def gathered_sizes(facts: Facts, parameter: Parameter) -> tuple[int, ...]:
    """Sizes of what a rank has of a parameter when its unit is gathered."""
    split = facts.layout.tensor
    dim = parameter_dim(parameter.shape, split) if parameter.trained else None
    if split is None or dim is None:
        return parameter.sizes
    degree = facts.mesh.degree(split.axes)
    return tuple(n // degree if at == dim else n for at, n in enumerate(parameter.sizes))


def shard_index(facts: Facts, rank: int) -> int:
    """Which of the parts a rank holds."""
    index = 0
    for name in facts.layout.storage.shard:
        axis = facts.mesh.axis(name)
        index = index * axis.size.value + rank // axis.stride % axis.size.value
    return index
