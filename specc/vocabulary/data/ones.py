"""`ones`: ones, drawn by key where they are random."""

from __future__ import annotations

from specc.vocabulary.record import DataRecord

RECORD = DataRecord(
    name="ones",
    settings=(),
    results=1,
    dtype="float",
    positional=(),
    source="torch.ones",
)
