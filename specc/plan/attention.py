"""What an attention sends whose tokens are split, by the method that moves them."""

from __future__ import annotations

from math import lcm, prod
from typing import TYPE_CHECKING

from specc.plan.collective import DTYPE_BYTES, Collective
from specc.plan.tensor import local_heads
from specc.program.dims import dim, names, size
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specc.plan.facts import Facts, Method, Module
    from specc.program.dims import Entry
    from specc.program.model import ApplyFunction


def methods_of(facts: Facts, module: Module, call: ApplyFunction) -> tuple[Method, ...]:
    """The methods that make a split dim whole around a call of a module's block."""
    context = () if call.foreign else find("functions", call.function).context
    return tuple(
        method
        for method in facts.layout.methods
        if method.acts_in(module.path)
        and any(call.dims.get(letter) == dim(method.dim) for letter in context)
    )


def in_place_of(facts: Facts, module: Module, call: ApplyFunction) -> Method | None:
    """The method that computes a call itself, instead of moving values around it, if one does."""
    found = methods_of(facts, module, call)
    return next((m for m in found if find("methods", m.name).construct is not None), None)


def sent_by_attention(
    facts: Facts,
    module: Module,
    call: ApplyFunction,
    has: Sequence[bool],
    *,
    repeated: bool,
    ends: bool,
) -> Iterator[Collective]:
    """All that one attention sends in a step.

    Args:
        has: whether queries, keys and values have gradients.
        repeated: whether its forward runs again in the backward pass.
        ends: whether what runs again ends with it, so that what follows its arithmetic does not.
    """
    for method in methods_of(facts, module, call):
        if method.name == "ring":
            yield from _ring(facts, module, method, call, has=any(has), repeated=repeated)
        if method.name == "ulysses" or method.settings.get("zigzag"):
            again = (repeated, repeated, repeated, repeated and not ends)
            yield from _exchanges(facts, module, method, call, (*has, any(has)), again)


def _exchanges(
    facts: Facts,
    module: Module,
    method: Method,
    call: ApplyFunction,
    has: Sequence[bool],
    again: Sequence[bool],
) -> Iterator[Collective]:
    """Queries, keys, values and the result, there and back."""
    dtype = module.precision.params
    tensors = (("H", "E"), ("K", "E"), ("K", "F"), ("H", "F"))
    for (letter, width), graded, repeated in zip(tensors, has, again, strict=True):
        size_bytes = _elements(facts, module, call, letter, width) * DTYPE_BYTES[dtype]
        count = (1 + repeated + graded) * facts.training.accumulate
        yield Collective(
            "all_to_all", method.axes, dtype, size_bytes, count, "attention", method.rule
        )


def _ring(
    facts: Facts, module: Module, method: Method, call: ApplyFunction, *, has: bool, repeated: bool
) -> Iterator[Collective]:
    """Keys and values in every pass, as far as they are seen; their gradients, in fp32, home."""
    hops, micro = _hops(facts, module, method, call), facts.training.accumulate
    dtype = module.precision.params
    for width in ("E", "F"):
        elements = _elements(facts, module, call, "K", width)
        for kind, count, cause in (
            (dtype, (1 + repeated + has) * hops, "attention"),
            ("fp32", (hops + 1) * has, "gradients of attention"),
        ):
            size_bytes = elements * DTYPE_BYTES[kind]
            if hops and count:
                yield Collective(
                    "send", method.axes, kind, size_bytes, count * micro, cause, method.rule
                )


def _hops(facts: Facts, module: Module, method: Method, call: ApplyFunction) -> int:
    """How often keys are sent on: around the ring, or as far as a window reaches back.

    In zigzag order the tokens before a rank's late half lie on the next rank, a whole round away.
    """
    ranks = facts.mesh.degree(method.axes)
    settings = next(found for own, found in module.calls.items() if own.span == call.span)
    window = settings.get("window")
    if not isinstance(window, int) or method.settings.get("zigzag"):
        return ranks - 1
    piece = size(call.dims["S"], facts.sizes) // ranks
    return min(ranks - 1, -(-(window - 1) // piece))


def repeats(facts: Facts, call: ApplyFunction, method: Method) -> int:
    """How many copies of each key head Ulysses makes, so that every rank has one."""
    _, kv = heads_on_rank(facts, call)
    return lcm(kv, facts.mesh.degree(method.axes)) // kv


def heads_on_rank(facts: Facts, call: ApplyFunction) -> tuple[int, int]:
    """Query and key heads of an attention on one rank, before a method moves them."""
    split = facts.layout.tensor
    degree = facts.mesh.degree(split.axes) if split is not None else 1
    return local_heads(call, split, degree, facts.sizes)


def _elements(facts: Facts, module: Module, call: ApplyFunction, letter: str, width: str) -> int:
    """Elements of the queries (`H`) or keys (`K`) of an attention on one rank.

    Keys that Ulysses copies are copied inside a ring around it, too.
    """
    queries, keys = heads_on_rank(facts, call)
    tokens = "S" if letter == "H" else "T"
    others = prod(data_size(facts, call.dims[at]) for at in ("B", tokens, width))
    if letter == "H":
        return others * queries
    copies = (
        repeats(facts, call, each)
        for each in methods_of(facts, module, call)
        if each.name == "ulysses"
    )
    return others * keys * prod(copies)


def data_size(facts: Facts, entry: Entry) -> int:
    """Elements of an entry on one rank, as far as axes of the data split it."""
    whole = size(entry, facts.sizes)
    for name in names(entry):
        whole //= facts.mesh.degree(facts.layout.axes_of(name))
    return whole
