"""Chains whose elements a block calls one by one, so that the chain's own forward never runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.plan.foreign import shares_of
from specc.plan.tensor import splitting
from specc.program import model
from specc.program.walk import values_of
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import Facts, Module, TensorSplit
    from specc.program.model import ValueType, What
    from specc.program.program import Program


def input_precisions(module: Module) -> frozenset[str]:
    """Dtypes that a module wants its inputs in: a block its own, a chain those of its parts."""
    if isinstance(module.what, (model.Chain, model.PartList)):
        return frozenset(p for child in module.children for p in input_precisions(child))
    if any(inner.parameters for inner in module.walk()):
        return frozenset({module.precision.params})
    return frozenset()


def called_apart(facts: Facts) -> Iterator[tuple[Module, str]]:
    """Chains that are called element by element, each with the reason."""
    for module in facts.model.walk():
        if isinstance(module.what, model.Chain) and len(input_precisions(module)) > 1:
            yield module, "its elements have different precisions"
        made = module.block
        exchanged = {
            value.part
            for value in values_of(facts.statements(made) if made is not None else ())
            if isinstance(value, model.ApplyPart) and isinstance(value.index, tree.Number)
        }
        for child in module.children:
            if child.name in exchanged and isinstance(child.what, model.Chain):
                yield child, "ranks exchange values between its elements"


def is_exchanging(program: Program, what: What, split: TensorSplit) -> bool:
    """Whether applying a part under a split exchanges values beside those of blocks inside it."""
    if isinstance(what, (model.Chain, model.PartList)):
        return any(is_exchanging(program, item, split) for item in what.items)
    if isinstance(what, model.Foreign):
        return shares_of(program, what).is_moved(split)
    if not isinstance(what, model.Leaf) or what.kind not in ("Linear", "Embedding"):
        return False
    return any(splitting(entry, split) for entry in what.dims.values())


def result_type(program: Program, what: What, kind: ValueType) -> ValueType:
    """Type of an element of a chain applied to a value."""
    match what:
        case model.Leaf(name, dims) if name == "Linear":
            return attrs.evolve(kind, shape=(*kind.shape[:-1], dims["O"]))
        case model.Leaf(name, dims) if name == "Embedding":
            return model.ValueType("float", (*kind.shape, dims["D"]))
        case model.Instance(key):
            return program.classes[key].results[0][1]
        case _:
            return kind
