"""`SiLU`: elementwise, as a part of a chain."""

from __future__ import annotations

from specc.vocabulary.record import PartRecord

RECORD = PartRecord(
    name="SiLU",
    arguments="none",
    letters=(),
    takes="x [..] -> [..]",
    settings=(),
    weights=(),
    split=("..",),
    construct=lambda _dims, _settings: "nn.SiLU()",
    flops=lambda n: 8 * n[".."],
    saved=lambda n: n[".."],
    source="torch.nn.SiLU",
)
