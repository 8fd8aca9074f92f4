"""Where two trainings of one model differ by more than the order of their sums explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from specc.runtime.observed import Training

# Only the order of fp32 sums may differ. 1e-5 is 84 eps of fp32: losses and norms of small models
# differ by 1 to 20 eps between meshes, and the faults of test_mutations by 1e-3 and more.
TOLERANCE = 1e-5
SMALL = 1e-3  # share of the global norm below which a gradient's own norm says nothing


@attrs.frozen
class Errors:
    """The largest relative errors of a training.

    Args:
        gradient: of any tensor at step 0, against its norm.
        loss, norm: of any step.
    """

    gradient: float
    loss: float
    norm: float


def errors(found: Training, expected: Training) -> Errors:
    """How far a training is from another one."""
    figures = list(_record_errors(found, expected))
    return Errors(
        max((error for _, error in _gradient_errors(found, expected)), default=0.0),
        max((error for _, name, error, _, _ in figures if name == "loss"), default=0.0),
        max((error for _, name, error, _, _ in figures if name == "norm"), default=0.0),
    )


def differences(found: Training, expected: Training) -> list[str]:
    """How a training, as rank 0 saw it, differs from that of one rank; final weights apart."""
    return [
        *_initial(found, expected),
        *_gradients(found, expected),
        *_records(found, expected),
    ]


def final_differences(found: Training, expected: Training) -> list[str]:
    """Weights that end elsewhere than those of one rank, each by its norm."""
    return [
        f"{name} ends off by {error:.1e}"
        for name, tensor in expected.final.items()
        if name in found.final
        and not (error := _norm(found.final[name] - tensor) / _norm(tensor)) <= TOLERANCE
    ]


def disagreements(by_rank: Sequence[Sequence[Training]]) -> list[str]:
    """Where ranks differ from rank 0: they hold the same weights and say the same figures."""
    first = by_rank[0]
    return [
        f"rank {rank} of {len(by_rank)} has {what} of its own"
        for rank, trainings in enumerate(by_rank)
        for one, other in zip(first, trainings, strict=True)
        for what in ("digest", "records", "bits")
        if getattr(one, what) != getattr(other, what)
    ]


def _initial(found: Training, expected: Training) -> Iterator[str]:
    if found.digest != expected.digest:
        yield f"digest {found.digest}, not {expected.digest}"
    if list(found.initial) != list(expected.initial):
        yield f"parameters {list(found.initial)}, not {list(expected.initial)}"
    for name, tensor in expected.initial.items():
        if name in found.initial and not found.initial[name].equal(tensor):
            yield f"{name} starts with other bits"


def _gradients(found: Training, expected: Training) -> Iterator[str]:
    if found.gradients.keys() != expected.gradients.keys():
        yield f"gradients of {sorted(found.gradients)}, not {sorted(expected.gradients)}"
    for name, error in _gradient_errors(found, expected):
        if not error <= TOLERANCE:
            yield f"gradient of {name} is off by {error:.1e}"


def _gradient_errors(found: Training, expected: Training) -> Iterator[tuple[str, float]]:
    all_of_it = sum(g.double().square().sum().item() for g in expected.gradients.values()) ** 0.5
    for name, gradient in expected.gradients.items():
        if name in found.gradients:
            scale = max(_norm(gradient), SMALL * all_of_it)
            error = _norm(found.gradients[name] - gradient)
            yield name, error / scale if error else 0.0


def _records(found: Training, expected: Training) -> Iterator[str]:
    if len(found.records) != len(expected.records):
        yield f"{len(found.records)} steps, not {len(expected.records)}"
    for step, name, error, value, true in _record_errors(found, expected):
        if not error <= TOLERANCE:
            yield f"step {step}: {name} {value!r}, not {true!r}"


def _record_errors(
    found: Training, expected: Training
) -> Iterator[tuple[int, str, float, float, float]]:
    """Step, name, relative error, value and true value of every figure."""
    pairs = zip(found.records, expected.records, strict=False)
    for step, ((loss, norm), (true_loss, true_norm)) in enumerate(pairs):
        for name, value, true in (("loss", loss, true_loss), ("norm", norm, true_norm)):
            error = abs(value - true)
            yield step, name, error / abs(true) if error else 0.0, value, true


def _norm(tensor: Tensor) -> float:
    return tensor.double().norm().item()
