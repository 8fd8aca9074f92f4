"""When two trainings of one model are the same training, and which meshes are tried."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from specc.api import Spec, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from tests.runs.parity_jobs import Training

SPECS = Path(__file__).parents[1] / "cases" / "parity"

# Only the order of fp32 sums may differ. 1e-5 is 84 eps of fp32: losses and norms of these models
# differ by 1 to 20 eps between meshes, and the faults of test_mutations by 1e-3 and more.
TOLERANCE = 1e-5
SMALL = 1e-3  # share of the global norm below which a gradient's own norm says nothing

TIMEOUT_S = 280  # of a job; seconds where nothing else runs, but a job may share its cores

# AdamW divides by gradients that may be near zero and so amplifies rounding: weights are compared
# after SGD, whose steps are linear in the gradients.
SGD = "train.optimizer=SGD(lr = 0.05)"
SGD_STEPS = 3


@attrs.frozen
class Mesh:
    """A layout of a spec on some ranks.

    Args:
        layout: None for the unnamed one.
        sizes: of axes that are not 1; the rest of the world is data.
    """

    layout: str | None
    world: int
    sizes: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        sizes = "".join(f"-{axis}{size}" for axis, size in self.sizes)
        return f"{self.layout or 'replicate'}-{self.world}{sizes}"


def spec(name: str, mesh: Mesh, *settings: str) -> Spec:
    """A parity spec on a mesh."""
    sizes = (f"mesh.{axis}={size}" for axis, size in mesh.sizes)
    return load(
        SPECS / f"{name}.spec",
        target="cpu",
        layout=mesh.layout,
        world=mesh.world,
        overrides=(*settings, *sizes),
    )


@cache
def texts(name: str, mesh: Mesh, *settings: str) -> list[tuple[str, str, int | None]]:
    """The training with AdamW and the one with SGD, as executed."""
    return [
        (spec(name, mesh, *settings).text(), name, None),
        (spec(name, mesh, *settings, SGD).text(), f"{name}_sgd", SGD_STEPS),
    ]


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


def disagreements(by_rank: list[list[Training]]) -> list[str]:
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
    all_of_it = sum(g.double().square().sum().item() for g in expected.gradients.values()) ** 0.5
    for name, gradient in expected.gradients.items():
        if name not in found.gradients:
            continue
        scale = max(_norm(gradient), SMALL * all_of_it)
        error = _norm(found.gradients[name] - gradient) / scale
        if not error <= TOLERANCE:
            yield f"gradient of {name} is off by {error:.1e}"


def _records(found: Training, expected: Training) -> Iterator[str]:
    if len(found.records) != len(expected.records):
        yield f"{len(found.records)} steps, not {len(expected.records)}"
    pairs = zip(found.records, expected.records, strict=False)
    for step, ((loss, norm), (true_loss, true_norm)) in enumerate(pairs):
        for name, value, true in (("loss", loss, true_loss), ("norm", norm, true_norm)):
            if not abs(value - true) <= TOLERANCE * abs(true):
                yield f"step {step}: {name} {value!r}, not {true!r}"


def _norm(tensor: Tensor) -> float:
    return tensor.double().norm().item()
