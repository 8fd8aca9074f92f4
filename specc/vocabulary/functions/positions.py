"""`positions(ids)`: the position of every token, `[S]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import FunctionRecord

if TYPE_CHECKING:
    from specc.vocabulary.record import FunctionCall


def _construct(call: FunctionCall) -> str:
    start, count = call.dims.get("start:S", "0"), call.dims["S"]
    if start == "0":
        return f"torch.arange({count}, device={call.device})"
    return f"torch.arange({start}, {start} + {count}, device={call.device})"


RECORD = FunctionRecord(
    name="positions",
    takes="ids i64[B, S] -> i64[S]",
    settings=(),
    split=("B", "S"),
    construct=_construct,
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.arange",
)
