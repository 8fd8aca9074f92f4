"""`ReLU`: elementwise, as a part of a chain."""

from __future__ import annotations

from specc.vocabulary.record import PartRecord

RECORD = PartRecord(
    name="ReLU",
    arguments="none",
    letters=(),
    takes="x [..] -> [..]",
    settings=(),
    weights=(),
    split=("..",),
    construct=lambda _dims, _settings: "nn.ReLU()",
    flops=lambda n: 8 * n[".."],
    saved=lambda n: n[".."],
    source="torch.nn.ReLU",
)
