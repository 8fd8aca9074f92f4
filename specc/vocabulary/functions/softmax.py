"""`softmax(x, over = D)`: in fp32, over a dim that it keeps."""

from __future__ import annotations

from specc.vocabulary.record import FunctionRecord, Setting
from specc.vocabulary.shapes import keeping

RECORD = FunctionRecord(
    name="softmax",
    takes="",
    settings=(Setting("over", "dim"),),
    split=(),
    construct=lambda call: (
        f"F.softmax({call.arguments[0]}, dim={call.dims['dim']}, dtype=torch.float32)"
        f".to({call.dims['dtype']})"
    ),
    infer=keeping,
    positional=("over",),
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.nn.functional.softmax",
)
