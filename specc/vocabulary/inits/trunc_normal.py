"""`trunc_normal`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, InitRecord, Setting
from specc.vocabulary.texts import number_text

RECORD = InitRecord(
    name="trunc_normal",
    settings=(Setting("std", "float", default=REQUIRED), Setting("cut", "float", default=2.0)),
    construct=lambda s: f"trunc_normal({number_text(s['std'])}, {number_text(s['cut'])})",
    positional=("std", "cut"),
    source="torch.nn.init.trunc_normal_",
)
