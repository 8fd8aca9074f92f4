"""`sum(x, over = D)`: the sum over a dim, which it removes."""

from __future__ import annotations

from specc.vocabulary.record import FunctionRecord, Setting
from specc.vocabulary.shapes import without
from specc.vocabulary.texts import method

RECORD = FunctionRecord(
    name="sum",
    takes="",
    settings=(Setting("over", "dim"),),
    split=(),
    construct=lambda call: method(call.arguments[0], f".sum({call.dims['dim']})"),
    infer=without,
    positional=("over",),
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.Tensor.sum",
)
