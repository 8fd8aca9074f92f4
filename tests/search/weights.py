"""How far a training may be from that of one rank, where any arithmetic may stand in a model.

Random arithmetic amplifies rounding: a difference of near values, a share of a sum near zero. So
the search allows more than `specc verify`, and less than what faults do (1e-3 and more at step 0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.runtime.differences import SMALL, errors

if TYPE_CHECKING:
    from torch import Tensor

    from specc.runtime.observed import Training
    from specc.runtime.verdict import Verdict

FIRST = 5e-4  # gradients of step 0
LATER = 2e-3  # losses and norms of any step, and weights at the end
NUMERIC = ("gradient of ", "step ")  # the faults that these two numbers judge


def faults(verdict: Verdict, found: Training, expected: Training) -> list[str]:
    """What is wrong with a mesh: in its numbers, and all else that `verify` finds."""
    error = errors(found, expected)
    is_close = error.gradient <= FIRST and max(error.loss, error.norm) <= LATER
    return [
        *(fault for fault in verdict.faults if not (is_close and fault.startswith(NUMERIC))),
        *_moved(found, expected),
    ]


def _moved(found: Training, expected: Training) -> list[str]:
    """Weights that end elsewhere, each against its norm, or a share of the norm of all."""
    all_of_it = sum(_norm(tensor) ** 2 for tensor in expected.final.values()) ** 0.5
    moved: list[str] = []
    for name, tensor in expected.final.items():
        if name not in found.final:
            continue
        scale = max(_norm(tensor), SMALL * all_of_it)
        error = _norm(found.final[name] - tensor) / scale
        if not error <= LATER:
            moved.append(f"{name} ends off by {error:.1e}")
    return moved


def _norm(tensor: Tensor) -> float:
    return tensor.double().norm().item()
