"""`silu(x)`: elementwise."""

from __future__ import annotations

from specc.vocabulary.record import FunctionRecord

RECORD = FunctionRecord(
    name="silu",
    takes="x [..] -> [..]",
    settings=(),
    split=("..",),
    construct=lambda call: f"F.silu({call.arguments[0]})",
    flops=lambda n: 8 * n[".."],
    saved=lambda n: n[".."],
    source="torch.nn.functional.silu",
)
