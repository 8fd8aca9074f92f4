"""`linear(factor)`: rope scaling by position interpolation."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, Setting, WordRecord
from specc.vocabulary.texts import number_text

RECORD = WordRecord(
    name="linear",
    kind="scaling",
    settings=(Setting("factor", "float", default=REQUIRED),),
    construct=lambda frequencies, s: (
        f"linear_frequencies({frequencies}, {number_text(s['factor'])})"
    ),
    positional=("factor",),
    source="Chen et al. 2023, arXiv 2306.15595, equation 4",
)
