"""`randint(n)`: whole numbers below n, drawn by key where they are random."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, DataRecord, Setting
from specc.vocabulary.texts import whole

RECORD = DataRecord(
    name="randint",
    settings=(Setting("high", "int", default=REQUIRED),),
    results=1,
    dtype="i64",
    positional=("high",),
    vocabulary=lambda settings: whole(settings["high"]),
    source="torch.randint",
)
