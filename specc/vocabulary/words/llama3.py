"""`llama3(factor, low, high, original)`: rope scaling of Llama 3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import REQUIRED, Setting, WordRecord
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from specc.vocabulary.record import Settings


def _construct(frequencies: str, settings: Settings) -> str:
    words = ", ".join(number_text(settings[n]) for n in ("factor", "low", "high", "original"))
    return f"llama3_frequencies({frequencies}, {words})"


RECORD = WordRecord(
    name="llama3",
    kind="scaling",
    settings=(
        Setting("factor", "float", default=REQUIRED),
        Setting("low", "float", default=1),
        Setting("high", "float", default=4),
        Setting("original", "int", default=8192),
    ),
    construct=_construct,
    source="Llama 3.1 reference code, apply_scaling; Grattafiori et al. 2024, arXiv 2407.21783",
)
