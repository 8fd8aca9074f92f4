"""A collective as the Plan knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from specc.source import Span

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
