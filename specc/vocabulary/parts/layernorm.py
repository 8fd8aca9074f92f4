"""`LayerNorm(D, eps = 1e-5, affine = true, bias = true)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import PartRecord, Setting, Weight
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from specc.vocabulary.record import DimTexts, Settings


def _construct(dims: DimTexts, settings: Settings) -> str:
    words = [dims["D"]]
    if settings["eps"] != 1e-5:
        words.append(f"eps={number_text(settings['eps'])}")
    if not settings["affine"]:
        words.append("elementwise_affine=False")
    elif not settings["bias"]:
        words.append("bias=False")
    return f"LayerNorm({', '.join(words)})"


RECORD = PartRecord(
    name="LayerNorm",
    arguments="one",
    letters=("D",),
    takes="x [.., D] -> [.., D]",
    settings=(
        Setting("eps", "float", default=1e-5),
        Setting("affine", "bool", default=True),
        Setting("bias", "bool", default=True),
    ),
    weights=(
        Weight("weight", ("D",), "ones", when="affine"),
        Weight("bias", ("D",), "zeros", when="affine and bias"),
    ),
    split=("..",),
    construct=lambda dims, settings: f"nn.{_construct(dims, settings)}",
    local=lambda dims, settings, _: f"Local{_construct(dims, settings)}",
    flops=lambda n: 8 * n[".."] * n["D"],
    saved=lambda n: n[".."] * (n["D"] + 2),
    source="torch.nn.LayerNorm; statistics in fp32 whatever the input",
)
