"""Where a model uses classes and functions of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.program import model
from specc.program.walk import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.plan.facts import Facts
    from specc.program.dims import Entry
    from specc.source import Span


@attrs.frozen
class ExternUse:
    """One place that uses an extern.

    Args:
        extern: its name in the spec.
        dims: entries that its own dims are bound to.
        is_call: it is applied to values, without a part.
    """

    extern: str
    dims: Mapping[str, Entry] = attrs.field(eq=False)
    is_call: bool
    span: Span = attrs.field(eq=False, repr=False)


def extern_uses(facts: Facts) -> Iterator[ExternUse]:
    """Every use in the unfolded model, parents first."""
    for module in facts.model.walk():
        if isinstance(module.what, model.Foreign):
            what = module.what
            yield ExternUse(what.extern, what.dims, is_call=False, span=what.span)
        for value in values_of(module.block.statements) if module.block is not None else ():
            if isinstance(value, model.ApplyFunction) and value.foreign:
                yield ExternUse(value.function, value.dims, is_call=True, span=value.span)
