"""`llama3(factor, low, high, original)`: rope scaling of Llama 3.1."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, Setting, WordRecord
from specc.vocabulary.texts import number_text

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
        f"llama3_frequencies({frequencies}, {number_text(s['factor'])}, {number_text(s['low'])}, {number_text(s['high'])}, {number_text(s['original'])})"
    ),
    source="Llama 3.1 reference code, apply_scaling; Grattafiori et al. 2024, arXiv 2407.21783",
)
