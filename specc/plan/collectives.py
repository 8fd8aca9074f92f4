"""Collectives of one optimizer step on one rank: kind, axes, dtype, bytes, count and cause.

Bytes are those of the larger buffer of a call: what an all-gather writes, what a reduce-scatter
reads.
"""

from __future__ import annotations

from math import lcm, prod
from typing import TYPE_CHECKING

import attrs

from specc.plan.losses import ignoring
from specc.program.dims import dim, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.plan.facts import Facts, Method, Module, Parameter, Unit
    from specc.program.dims import Entry
    from specc.source import Span
    from specc.vocabulary.record import SettingValue

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


@attrs.frozen
class Collective:
    """Equal calls of one step.

    Args:
        kind: `all_gather`, `reduce_scatter`, `all_reduce`, `all_to_all`, or `send` to the next.
        axes: leaf axes of its group.
        bytes: of the larger buffer of one call.
        count: calls in a step; 0 where torch decides how to cut `bytes` into calls.
        cause: what it is for, in words.
        rule: the rule of the spec that brings it about.
    """

    kind: str
    axes: tuple[str, ...]
    dtype: str
    bytes: int
    count: int
    cause: str
    rule: Span | None = attrs.field(default=None, eq=False, repr=False)


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
    for module in facts.model.walk():
        for method in facts.layout.methods:
            yield from _moves(facts, module, method)
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
    ranks = facts.mesh.degree(storage.shard)
    elements = sum(_padded(p, ranks) for p in held)
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
    elements = sum(_padded(p, ranks) for p in graded)
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


def _padded(parameter: Parameter, ranks: int) -> int:
    """Elements with the first dim padded to equal pieces."""
    rows, *rest = parameter.sizes
    return -(-rows // ranks) * ranks * prod(rest)


def _norm(facts: Facts) -> Iterator[Collective]:
    storage = facts.layout.storage
    if storage.shard:
        yield Collective("all_reduce", storage.shard, "fp32", 4, 1, "the norm of the gradients")


# ------------------------------------------------------------------------------------- methods


def _moves(facts: Facts, module: Module, method: Method) -> Iterator[Collective]:
    """What every attention moves, forward, recomputed and backward."""
    if module.block is None or not method.acts_in(module.path):
        return
    for call, settings in module.calls.items():
        if call.dims.get("S") != dim(method.dim) or call.function != "attention":
            continue
        if method.name == "ring":
            yield from _ring(facts, module, method, call.dims, settings)
        if method.name == "ulysses" or method.settings.get("zigzag"):
            yield from _exchanges(facts, module, method, call.dims)


def _exchanges(
    facts: Facts, module: Module, method: Method, dims: Mapping[str, Entry]
) -> Iterator[Collective]:
    """Queries, keys and values change ranks before attention, and its results after it."""
    count = _passes(facts, module) * facts.training.accumulate
    dtype = module.precision.params
    for letters in ("HE", "KE", "KF", "HF"):
        size_bytes = _elements(facts, module, dims, letters) * DTYPE_BYTES[dtype]
        yield Collective(
            "all_to_all", method.axes, dtype, size_bytes, count, "attention", method.rule
        )


def _ring(
    facts: Facts,
    module: Module,
    method: Method,
    dims: Mapping[str, Entry],
    settings: Mapping[str, SettingValue],
) -> Iterator[Collective]:
    """Keys and values in every pass, as far as they are seen; their gradients, in fp32, home."""
    passes, micro = _passes(facts, module), facts.training.accumulate
    hops = _hops(facts, method, dims, settings.get("window"))
    dtype = module.precision.params
    for letters in ("KE", "KF"):
        elements = _elements(facts, module, dims, letters)
        for kind, count, cause in (
            (dtype, passes * hops, "attention"),
            ("fp32", hops + 1, "gradients of attention"),
        ):
            size_bytes = elements * DTYPE_BYTES[kind]
            if hops:
                yield Collective(
                    "send", method.axes, kind, size_bytes, count * micro, cause, method.rule
                )


def _hops(
    facts: Facts, method: Method, dims: Mapping[str, Entry], window: SettingValue | None
) -> int:
    """How often keys are sent on: around the ring, or as far as a window reaches back.

    In zigzag order the tokens before a rank's late half lie on the next rank, a whole round away.
    """
    ranks = facts.mesh.degree(method.axes)
    if not isinstance(window, int) or method.settings.get("zigzag"):
        return ranks - 1
    piece = size(dims["S"], facts.sizes) // ranks
    return min(ranks - 1, -(-(window - 1) // piece))


def _elements(facts: Facts, module: Module, dims: Mapping[str, Entry], letters: str) -> int:
    """Elements of a rank's queries or results (`HE`, `HF`), or keys or values (`KE`, `KF`)."""
    elements = prod(_local(facts, dims[letter]) for letter in ("B", "S", *letters))
    return elements * _repeats(facts, module, dims) if "K" in letters else elements


def _repeats(facts: Facts, module: Module, dims: Mapping[str, Entry]) -> int:
    """Copies of every key head, so that Ulysses can split them; a ring inside has them, too."""
    heads = size(dims["K"], facts.sizes)
    ranks = (
        facts.mesh.degree(method.axes)
        for method in facts.layout.methods
        if method.name == "ulysses" and dim(method.dim) == dims["S"] and method.acts_in(module.path)
    )
    return lcm(heads, *ranks) // heads


def _local(facts: Facts, entry: Entry) -> int:
    """Elements of an entry on one rank."""
    whole = size(entry, facts.sizes)
    for segment in entry:
        for factor in segment:
            if isinstance(factor, str):
                whole //= facts.mesh.degree(facts.layout.axes_of(factor))
    return whole


def _passes(facts: Facts, module: Module) -> int:
    """Forward and backward, and forward again where a module around it is recomputed whole."""
    recomputed = any(
        other.recompute is not None
        and not other.recompute.keep
        and _inside(module.path, other.path)
        for other in facts.model.walk()
    )
    return 3 if recomputed else 2


def _inside(path: str, outer: str) -> bool:
    return not outer or path == outer or path.startswith(f"{outer}.")
