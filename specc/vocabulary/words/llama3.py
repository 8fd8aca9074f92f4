"""`llama3(factor, low, high, original)`: rope scaling of Llama 3.1."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, Setting, WordRecord

RECORD = WordRecord(
    name="llama3",
    kind="scaling",
    settings=(
        Setting("factor", "float", default=REQUIRED),
        Setting("low", "float", default=1),
        Setting("high", "float", default=4),
        Setting("original", "int", default=8192),
    ),
    construct=lambda frequencies, s: (
        f"llama3_frequencies({frequencies}, {s['factor']}, {s['low']}, {s['high']}, {s['original']})"
    ),
    source="Llama 3.1 reference code, apply_scaling; Grattafiori et al. 2024, arXiv 2407.21783",
)
