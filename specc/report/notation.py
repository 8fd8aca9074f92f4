"""Shapes with the axes that split them: `[B/dp, S/cp, d]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.holding import local_sizes
from specc.plan.tensor import axes_in, parameter_dim
from specc.program.dims import show
from specc.report.quantities import sizes_text

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Parameter
    from specc.program.dims import Entry
    from specc.program.model import ValueType


def split_by(entry: Entry, axes: tuple[str, ...]) -> str:
    """`B/dp`, `vocab/(dp*cp)`, `(q + k)/dp`; the entry alone where nothing splits it."""
    text = show(entry)
    if not axes:
        return text
    is_one_factor = sum(len(segment) for segment in entry) == 1
    whole = text if is_one_factor else f"({text})"
    return f"{whole}/{axes[0]}" if len(axes) == 1 else f"{whole}/({'*'.join(axes)})"


def value_shape(facts: Facts, kind: ValueType) -> str:
    """A value's shape as the layout splits it."""
    axes = axes_in(kind, facts.layout)
    return "[" + ", ".join(map(split_by, kind.shape, axes)) + "]"


def parameter_shape(facts: Facts, parameter: Parameter) -> str:
    """A parameter's shape as it is stored."""
    store = facts.layout.storage
    is_whole = not parameter.trained or store.kind in ("ddp", "replicate")
    stored = () if is_whole else tuple(n for n in store.shard if facts.mesh.axis(n).size.value > 1)
    tensor = facts.layout.tensor
    dim = parameter_dim(parameter.shape, tensor) if parameter.trained else None
    axes = [stored if at == 0 else () for at in range(len(parameter.shape))]
    if tensor is not None and dim is not None:
        axes[dim] = (*axes[dim], *tensor.axes)
    return "[" + ", ".join(map(split_by, parameter.shape, axes)) + "]"


def local_text(facts: Facts, parameter: Parameter) -> str:
    """Sizes of the first rank's part."""
    return sizes_text(local_sizes(facts, parameter))
