"""Which meshes the parity tests try, and what is trained on them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import attrs

from specc.api import Spec, load

SPECS = Path(__file__).parents[1] / "cases" / "parity"

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
