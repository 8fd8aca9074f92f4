"""`exp(x)`: elementwise."""

from __future__ import annotations

from specc.vocabulary.record import FunctionRecord
from specc.vocabulary.texts import method

RECORD = FunctionRecord(
    name="exp",
    takes="x [..] -> [..]",
    settings=(),
    split=("..",),
    construct=lambda call: method(call.arguments[0], ".exp()"),
    flops=lambda n: 8 * n[".."],
    saved=lambda n: n[".."],
    source="torch.exp",
)
