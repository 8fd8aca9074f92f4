"""`zeros`: zeros, drawn by key where they are random."""

from __future__ import annotations

from specc.vocabulary.record import DataRecord

RECORD = DataRecord(
    name="zeros",
    settings=(),
    results=1,
    dtype="float",
    positional=(),
    source="torch.zeros",
)
