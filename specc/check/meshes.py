"""Every mesh of a number of ranks, for one spec: the legal ones, and why others are not."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

import attrs

from specc.check.ambient import overrides
from specc.check.mesh import axis_sizes
from specc.check.overrides import settle
from specc.check.texts import names_in
from specc.diagnostics import Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.check.checked import Checked
    from specc.plan.facts import Facts

# Levels of the mesh itself, and of what does not change the mathematics.
FREE = ("mesh", "cluster", "launch", "layout")


@attrs.frozen
class Candidate:
    """A spec on one mesh.

    Args:
        sizes: of the leaf axes, outermost first.
    """

    sizes: Mapping[str, int]
    spec: Checked

    def __str__(self) -> str:
        return " x ".join(f"{axis}={size}" for axis, size in self.sizes.items())


def frozen_settings(spec: Checked) -> tuple[str, ...]:
    """What a spec says by its mesh, such as `B = 4*dp`, at the sizes that its own mesh has.

    Other meshes train the same model only with the same batch.
    """
    assert spec.program is not None and spec.situation is not None  # noqa: PT018
    facts = spec.facts()
    sizes = {**axis_sizes(facts.mesh), "world": facts.mesh.world}
    settled = settle(spec.program, spec.situation, Report())
    word = re.compile(rf"\b(?:{'|'.join(sizes)})\b")
    return tuple(
        f"{path} = {word.sub(lambda found: str(sizes[found[0]]), choice.value.span.text)}"
        for path, choice in settled.values.items()
        if path.partition(".")[0] not in FREE and names_in(choice.value) & sizes.keys()
    )


def meshes(spec: Checked, most: int) -> Iterator[Candidate]:
    """The spec on every mesh of up to `most` ranks, one rank first; some do not check."""
    facts = spec.facts()
    assert spec.situation is not None
    frozen = frozen_settings(spec)
    for sizes in _assignments(len(facts.mesh.axes), most):
        named = dict(zip((axis.name for axis in facts.mesh.axes), sizes, strict=True))
        axes = (f"mesh.{name} = {size}" for name, size in _with_products(facts, named).items())
        report = Report()
        more = overrides([*frozen, *axes], report)
        assert not report.failed, "what a spec says can be said again"
        paths = {override.path for override in more}
        kept = [each for each in spec.situation.overrides if each.path not in paths]
        situation = attrs.evolve(spec.situation, world=prod(sizes), overrides=(*kept, *more))
        yield Candidate(named, spec.in_situation(situation))


def _with_products(facts: Facts, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes of leaf axes and of the axes that they are inside of."""
    products = facts.mesh.products
    return {name: prod(sizes[leaf] for leaf in leaves) for name, leaves in products.items()}


def _assignments(axes: int, most: int) -> list[tuple[int, ...]]:
    """Sizes of axes that multiply to `most` or less, the smallest worlds first."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(axes):
        found = [(*sizes, size) for sizes in found for size in range(1, most // prod(sizes) + 1)]
    return sorted(found, key=lambda sizes: (prod(sizes), sizes))
