"""The same training where only the order of fp32 sums can differ between meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.plan.facts import Precision

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Module

FULL = Precision()


def exact(facts: Facts) -> Facts:
    """The facts in fp32 and uncompiled: lower precision and other kernels round differently."""
    storage = facts.layout.storage
    units = tuple(attrs.evolve(unit, precision=FULL) for unit in storage.units)
    layout = attrs.evolve(facts.layout, storage=attrs.evolve(storage, units=units))
    training = attrs.evolve(facts.training, matmul="fp32")
    return attrs.evolve(facts, layout=layout, model=_exact(facts.model), training=training)


def _exact(module: Module) -> Module:
    return attrs.evolve(
        module,
        precision=FULL,
        compile=None,
        parameters=tuple(attrs.evolve(p, precision=FULL) for p in module.parameters),
        children=tuple(map(_exact, module.children)),
    )
