"""Shapes with the axes that split them: `[B/dp, S/cp, d]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.placement import axes_of
from specc.plan.holding import local_sizes
from specc.program.dims import show
from specc.report.quantities import sizes_text

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Parameter
    from specc.program.dims import Entry, Shape


def split_by(entry: Entry, axes: tuple[str, ...]) -> str:
    """`B/dp`, `vocab/(dp*cp)`, `(q + k)/dp`; the entry alone where nothing splits it."""
    text = show(entry)
    if not axes:
        return text
    is_one_factor = sum(len(segment) for segment in entry) == 1
    whole = text if is_one_factor else f"({text})"
    return f"{whole}/{axes[0]}" if len(axes) == 1 else f"{whole}/({'*'.join(axes)})"


def value_shape(facts: Facts, shape: Shape) -> str:
    """A value's shape as the layout splits it."""
    splits = facts.layout.splits
    return "[" + ", ".join(split_by(entry, axes_of(entry, splits)) for entry in shape) + "]"


def parameter_shape(facts: Facts, parameter: Parameter) -> str:
    """A parameter's shape as it is stored."""
    store = facts.layout.storage
    is_whole = not parameter.trained or store.kind in ("ddp", "replicate")
    axes = () if is_whole else tuple(n for n in store.shard if facts.mesh.axis(n).size.value > 1)
    first, *rest = parameter.shape or ((),)
    entries = [split_by(first, axes), *(show(entry) for entry in rest)]
    return "[" + ", ".join(entries) + "]" if parameter.shape else "[]"


def local_text(facts: Facts, parameter: Parameter) -> str:
    """Sizes of the first rank's part."""
    return sizes_text(local_sizes(facts, parameter))
