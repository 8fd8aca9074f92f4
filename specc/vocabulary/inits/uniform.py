"""`uniform`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, InitRecord, Setting
from specc.vocabulary.texts import number_text

RECORD = InitRecord(
    name="uniform",
    settings=(Setting("bound", "float", default=REQUIRED),),
    construct=lambda s: f"uniform({number_text(s['bound'])})",
    positional=("bound",),
    source="torch.nn.init.uniform_",
)
