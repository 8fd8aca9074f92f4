"""What one rank holds of a built model, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specc.plan.holding import HeldTensor
from specc.plan.memory import host_memory, memory
from specc.report.folding import folded
from specc.report.quantities import bytes_text, sizes_text, table

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Unit


def holding_text(facts: Facts, held: Sequence[HeldTensor], *, is_real: bool) -> str:
    """The model as built, its units, and every tensor on the first rank; ends in a line end."""
    used, moved = memory(facts, held), host_memory(facts, held)
    how = "built" if is_real else "built without memory, among fake ranks"
    elements = sum(tensor.elements for tensor in held)
    world = f"{facts.mesh.world} ranks, target {facts.target.name}"
    share = f"{elements:,} of {_total(held):,} elements"
    weights = sum(tensor.bytes for tensor in held)
    host = f" on the device, {bytes_text(moved.total)} on the host" if moved.total else ""
    lines = [
        f"{facts.program.name}: {facts.model.type} on {world}; {how}",
        f"rank 0 holds {share}: {bytes_text(weights)} of weights;",
        f"with gradients and {facts.training.optimizer.name} {bytes_text(used.total)}{host}",
        "",
        *_units(facts, held),
        "",
        *_tensors(facts, held),
    ]
    return "\n".join(lines) + "\n"


def _total(held: Sequence[HeldTensor]) -> int:
    total = 0
    for tensor in held:
        elements = 1
        for size in tensor.sizes:
            elements *= size
        total += elements
    return total


def _units(facts: Facts, held: Sequence[HeldTensor]) -> list[str]:
    """A line for each kind of unit; one for the whole model where it has no units."""
    by_name = {tensor.name: tensor for tensor in held}
    types = {module.path: module.type for module in facts.model.walk()}
    groups: dict[tuple[object, ...], list[Unit]] = {}
    for unit in facts.layout.storage.units:
        words = [types[path] or path for path in unit.modules]
        kind = "the rest" if unit.modules == ("",) else " + ".join(words)
        there = [by_name[name] for name in unit.parameters]
        groups.setdefault((kind, sum(t.elements for t in there), len(there)), []).append(unit)
    head = ("unit", "", "tensors", "elements", "bytes")
    rows: list[tuple[str, ...]] = [head]
    for (kind, elements, tensors), units in groups.items():
        there = [by_name[name] for name in units[0].parameters]
        count = f"x {len(units)}" if len(units) > 1 else ""
        size = bytes_text(sum(tensor.bytes for tensor in there))
        rows.append((str(kind), count, str(tensors), f"{elements:,}", size))
    if len(rows) == 1:
        size = bytes_text(sum(tensor.bytes for tensor in held))
        elements = sum(tensor.elements for tensor in held)
        rows.append(("the model", "", str(len(held)), f"{elements:,}", size))
    return table(rows, numbers=(2, 3, 4))


def _tensors(facts: Facts, held: Sequence[HeldTensor]) -> list[str]:
    by_name = {tensor.name: tensor for tensor in held}

    def key(name: str) -> tuple[object, ...]:
        tensor = by_name[name]
        return (tensor.sizes, tensor.local_sizes, tensor.element_bytes)

    rows: list[tuple[str, ...]] = [("tensor", "", "whole", "on rank 0", "bytes")]
    for fold in folded(facts.model, by_name, key):
        tensor = by_name[fold.paths[0]]
        count = f"x {len(fold.paths)}" if len(fold.paths) > 1 else ""
        sizes, local = sizes_text(tensor.sizes), sizes_text(tensor.local_sizes)
        rows.append((fold.pattern, count, sizes, local, bytes_text(tensor.bytes)))
    return table(rows, numbers=(4,))
