"""`randint(n)`: whole numbers below n, drawn by key where they are random."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, DataRecord, Setting

RECORD = DataRecord(
    name="randint",
    settings=(Setting("high", "int", default=REQUIRED),),
    results=1,
    dtype="i64",
    positional=("high",),
    vocabulary=lambda settings: int(settings["high"]),  # type: ignore[arg-type]
    source="torch.randint",
)
