"""Collectives of one optimizer step on one rank: kind, axes, dtype, bytes, count and cause.

Bytes are those of the larger buffer of a call: what an all-gather writes, what a reduce-scatter
reads.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import attrs

from specc.plan.collective import DTYPE_BYTES, Collective
from specc.plan.exchanges import exchanges
from specc.plan.holding import gathered_sizes
from specc.plan.losses import ignoring
from specc.plan.tensor import parameter_dim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import Facts, Parameter, Unit


def collectives(facts: Facts) -> tuple[Collective, ...]:
    """All collectives of a step, equal ones together; those over one rank are left out."""
    found: dict[tuple[object, ...], Collective] = {}
    for one in _every(facts):
        if facts.mesh.degree(one.axes) == 1:
            continue
        key = (one.kind, one.axes, one.dtype, one.bytes, one.cause)
        same = found.get(key)
        found[key] = attrs.evolve(one, count=one.count + same.count) if same else one
    return tuple(found.values())


def _every(facts: Facts) -> Iterator[Collective]:
    yield from _storage(facts)
    yield from exchanges(facts)
    everyone = tuple(axis.name for axis in facts.mesh.axes)
    if ignoring(facts.training) is not None:
        yield Collective("all_reduce", everyone, "fp32", 8, 1, "the loss and the labels that count")
    else:
        yield Collective("all_reduce", everyone, "fp32", 4, 1, "the mean loss")
    yield from _norm(facts)


# ------------------------------------------------------------------------------------- storage


def _storage(facts: Facts) -> Iterator[Collective]:
    storage = facts.layout.storage
    if storage.kind == "ddp":
        trained = sum(p.numel for p in facts.parameters if _has_gradient(p))
        everyone = tuple(axis.name for axis in facts.mesh.axes)
        yield Collective(
            "all_reduce", everyone, "fp32", 4 * trained, 0, "gradients, in buckets", storage.rule
        )
        return
    parameters = {p.name: p for p in facts.parameters}
    for unit in storage.units:
        yield from _unit(facts, unit, [parameters[name] for name in unit.parameters])


def _has_gradient(parameter: Parameter) -> bool:
    return parameter.trained and not parameter.frozen and parameter.tied_to is None


def _unit(facts: Facts, unit: Unit, parameters: list[Parameter]) -> Iterator[Collective]:
    """Gathers before use, a reduction after backward, for every microbatch."""
    storage, micro = facts.layout.storage, facts.training.accumulate
    held = [p for p in parameters if p.trained]
    if not held:
        return  # all that the root would hold belongs to other units
    ranks = facts.mesh.degree(storage.shard)
    elements = sum(_padded(facts, p, ranks) for p in held)
    params, reduce = unit.precision.params, unit.precision.reduce
    again = unit.reshard is not False and unit.modules != ("",)
    kept = storage.kind in ("grads", "optim")  # gathered once for all microbatches
    gathers = 1 if kept else micro * (2 if again else 1)
    yield Collective(
        "all_gather",
        storage.shard,
        params,
        elements * DTYPE_BYTES[params],
        gathers,
        "parameters",
        unit.span,
    )
    graded = [p for p in held if _has_gradient(p)]
    if not graded:
        return
    elements = sum(_padded(facts, p, ranks) for p in graded)
    reductions = 1 if storage.kind == "optim" else micro
    size_bytes = elements * DTYPE_BYTES[reduce]
    yield Collective(
        "reduce_scatter", storage.shard, reduce, size_bytes, reductions, "gradients", unit.span
    )
    if storage.replicate:
        part = size_bytes // max(1, ranks)
        yield Collective(
            "all_reduce",
            storage.replicate,
            reduce,
            part,
            reductions,
            "gradients of copies",
            unit.span,
        )


def _padded(facts: Facts, parameter: Parameter, ranks: int) -> int:
    """Elements with the first dim padded to equal pieces."""
    rows, *rest = gathered_sizes(facts, parameter)
    return -(-rows // ranks) * ranks * prod(rest)


def _norm(facts: Facts) -> Iterator[Collective]:
    """One number for each set of axes that parameters are split over, and each axis of it."""
    split = facts.layout.tensor
    trained = [p for p in facts.parameters if _has_gradient(p)]
    for apart in {parameter_dim(p.shape, split) is not None for p in trained}:
        for axes in (facts.layout.storage.shard, split.axes if split and apart else ()):
            if axes:
                yield Collective("all_reduce", axes, "fp32", 4, 1, "the norm of the gradients")
