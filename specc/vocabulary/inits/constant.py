"""`constant`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, InitRecord, Setting
from specc.vocabulary.texts import number_text

RECORD = InitRecord(
    name="constant",
    settings=(Setting("value", "float", default=REQUIRED),),
    construct=lambda s: f"constant({number_text(s['value'])})",
    positional=("value",),
    source="torch.nn.init.constant_",
)
