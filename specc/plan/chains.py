"""Chains whose elements a block calls one by one, so that the chain's own forward never runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model
from specc.program.walk import values_of
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import Facts, Module


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
