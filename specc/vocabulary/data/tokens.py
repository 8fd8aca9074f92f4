"""`ids, labels = tokens("data/*.bin")`: raw token ids, memory-mapped."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, DataRecord, Setting

RECORD = DataRecord(
    name="tokens",
    settings=(
        Setting("path", "string", default=REQUIRED),
        Setting("shuffle", "bool", default=True),
        Setting("dtype", "word", default="uint16", choices=("uint16", "int32")),
        Setting("ahead", "int", default=1, lowered=False),
        Setting("pack", "bool", default=False, lowered=False),
    ),
    results=2,
    dtype="i64",
    positional=("path",),
    source="raw little-endian integers without a header, as nanoGPT writes them",
)
