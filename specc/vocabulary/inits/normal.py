"""`normal`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import InitRecord, Setting
from specc.vocabulary.texts import number_text

RECORD = InitRecord(
    name="normal",
    settings=(Setting("std", "float", default=1.0),),
    construct=lambda s: f"normal({number_text(s['std'])})",
    positional=("std",),
    source="torch.nn.init.normal_",
)
