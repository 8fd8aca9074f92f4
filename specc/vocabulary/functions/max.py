"""`max(x, over = D)`: the maximum over a dim, which it removes."""

from __future__ import annotations

from specc.vocabulary.record import FunctionRecord, Setting
from specc.vocabulary.shapes import without
from specc.vocabulary.texts import method

RECORD = FunctionRecord(
    name="max",
    takes="",
    settings=(Setting("over", "dim"),),
    split=(),
    construct=lambda call: method(call.arguments[0], f".amax({call.dims['dim']})"),
    infer=without,
    positional=("over",),
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.Tensor.amax",
)
