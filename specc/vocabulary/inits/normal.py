"""`normal`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import InitRecord, Setting

RECORD = InitRecord(
    name="normal",
    settings=(Setting("std", "float", default=1.0),),
    construct=lambda s: f"normal({s['std']})",
    positional=("std",),
    source="torch.nn.init.normal_",
)
