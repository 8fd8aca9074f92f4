"""What a training takes on one rank, as far as the Plan knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.plan.holding import STORED_BYTES, HeldTensor, holding
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specc.plan.facts import Facts


@attrs.frozen
class Memory:
    """Bytes on one rank, activations not counted."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.gradients + self.optimizer


def memory(facts: Facts, held: Sequence[HeldTensor] | None = None) -> Memory:
    """Bytes of weights, gradients and optimizer state on the first rank.

    Args:
        held: what a built model holds; by default what the Plan says.
    """
    tensors = holding(facts) if held is None else held
    trained = {p.name for p in facts.parameters if p.trained and not p.frozen}
    chosen = facts.training.optimizer
    state_bytes: int = find("optimizers", chosen.name).state_bytes(chosen.settings)
    elements = sum(tensor.elements for tensor in tensors if tensor.name in trained)
    return Memory(
        weights=sum(tensor.bytes for tensor in tensors),
        gradients=elements * STORED_BYTES,
        optimizer=elements * state_bytes,
    )
