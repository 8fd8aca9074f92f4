"""`trunc_normal`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, InitRecord, Setting

RECORD = InitRecord(
    name="trunc_normal",
    settings=(Setting("std", "float", default=REQUIRED), Setting("cut", "float", default=2.0)),
    construct=lambda s: f"trunc_normal({s['std']}, {s['cut']})",
    positional=("std", "cut"),
    source="torch.nn.init.trunc_normal_",
)
