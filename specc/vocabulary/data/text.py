"""`ids, labels = text("builtin" | "path/*.txt", tokenizer = "bytes", held_out = 0.1)`."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, DataRecord, Setting

RECORD = DataRecord(
    name="text",
    settings=(
        Setting("path", "string", default=REQUIRED),
        Setting("tokenizer", "word", default="bytes", choices=("bytes",)),
        Setting("held_out", "float", default=0),
        Setting("shuffle", "bool", default=True),
    ),
    results=2,
    dtype="i64",
    positional=("path",),
    held_out=True,
    vocabulary=lambda _: 256,
    source="UTF-8 bytes; `builtin` is pydoc_data.topics, CPython's language reference",
)
