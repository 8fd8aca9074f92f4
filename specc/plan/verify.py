"""What must hold of the facts of every Plan; a violation is a fault of specc, never of a spec."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import Facts


class PlanError(Exception):
    """The facts contradict each other: all contradictions, one a line."""


def verify(facts: Facts) -> None:
    """Raise PlanError if the facts contradict each other."""
    faults = [
        *_mesh_faults(facts),
        *_split_faults(facts),
        *_parameter_faults(facts),
        *_unit_faults(facts),
    ]
    if faults:
        raise PlanError("\n".join(faults))


def _mesh_faults(facts: Facts) -> Iterator[str]:
    mesh = facts.mesh
    ranks = prod(axis.size.value for axis in mesh.axes)
    if ranks != mesh.world:
        yield f"the axes multiply to {ranks}, the world has {mesh.world}"
    stride = ranks
    for axis in mesh.axes:
        stride //= axis.size.value
        if axis.stride != stride:
            yield f"axis {axis.name} has stride {axis.stride}, its place in the mesh makes {stride}"


def _split_faults(facts: Facts) -> Iterator[str]:
    layout = facts.layout
    names = {axis.name for axis in facts.mesh.axes}
    for split in layout.splits:
        if not set(split.axes) <= names:
            yield f"{split.dim} is split over {split.axes}, which are no axes of the mesh"
    tensor = layout.tensor
    parts = [(dim, tensor.axes) for dim in tensor.dims] if tensor is not None else []
    for dim, axes in [*((split.dim, split.axes) for split in layout.splits), *parts]:
        degree = facts.mesh.degree(axes)
        if facts.sizes[dim] % degree:
            yield f"{dim} = {facts.sizes[dim]} is split {degree} ways"
    used = {axis for split in layout.splits for axis in split.axes}
    apart = set(tensor.axes) if tensor is not None else set[str]()
    idle = names - used - apart - set(layout.duplicate)
    if idle:
        yield f"axes {sorted(idle)} split no data, and no rule replicates over them"


def _parameter_faults(facts: Facts) -> Iterator[str]:
    names = Counter(p.name for p in facts.parameters)
    yield from (f"two parameters are called {name}" for name, n in names.items() if n > 1)
    by_name = {p.name: p for p in facts.parameters}
    for parameter in facts.parameters:
        if parameter.tied_to is None:
            continue
        other = by_name.get(parameter.tied_to)
        if other is None or other.sizes != parameter.sizes or other.tied_to is not None:
            yield f"{parameter.name} is tied to {parameter.tied_to}, which it cannot share"


def _unit_faults(facts: Facts) -> Iterator[str]:
    storage = facts.layout.storage
    apart = facts.layout.tensor.axes if facts.layout.tensor is not None else ()
    axes = Counter([*storage.shard, *storage.replicate, *apart])
    if storage.kind != "ddp" and axes != Counter(axis.name for axis in facts.mesh.axes):
        yield f"storage uses axes {dict(axes)}; each axis of the mesh must have one use"
    if storage.kind == "ddp":
        return
    held = Counter(name for unit in storage.units for name in unit.parameters)
    own = {p.name for p in facts.parameters if p.trained and p.tied_to is None}
    for name in sorted(own | set(held)):
        if held[name] != 1 or name not in own:
            yield f"{name} lies in {held[name]} units"
    precision = {p.name: p.precision for p in facts.parameters}
    for unit in storage.units:
        if any(precision[name].params != unit.precision.params for name in unit.parameters):
            yield f"unit {unit.modules} gathers in {unit.precision.params}, not so all it holds"
