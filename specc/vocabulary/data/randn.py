"""`randn`: normal numbers, drawn by key where they are random."""

from __future__ import annotations

from specc.vocabulary.record import DataRecord

RECORD = DataRecord(
    name="randn",
    settings=(),
    results=1,
    dtype="float",
    positional=(),
    source="torch.randn",
)
