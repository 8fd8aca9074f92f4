"""`RMSNorm(D, eps = 1e-6, offset = 0, affine = true)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import PartRecord, Setting, Weight
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from specc.vocabulary.record import DimTexts, Settings


def _construct(dims: DimTexts, settings: Settings) -> str:
    offset = f", offset={number_text(settings['offset'])}" if settings["offset"] else ""
    return f"RMSNorm({dims['D']}, eps={number_text(settings['eps'])}{offset})"


RECORD = PartRecord(
    name="RMSNorm",
    arguments="one",
    letters=("D",),
    takes="x [.., D] -> [.., D]",
    settings=(
        Setting("eps", "float", default=1e-6),
        Setting("offset", "float", default=0),
        Setting("affine", "bool", default=True, lowered=False),
    ),
    weights=(Weight("weight", ("D",), "ones"),),
    split=("..",),
    construct=_construct,
    local=lambda dims, settings, _: f"Local{_construct(dims, settings)}",
    flops=lambda n: 4 * n[".."] * n["D"],
    saved=lambda n: n[".."] * (n["D"] + 1),
    source="Zhang and Sennrich 2019, arXiv 1910.07467, equation 4; statistics in fp32",
)
