"""`attention(q, k, v, ..)`: scaled dot-product attention with as many or fewer key heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import FunctionRecord, Setting
from specc.vocabulary.texts import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.vocabulary.record import FunctionCall


def _construct(call: FunctionCall) -> str:
    settings = call.settings
    scale, window, cap = settings["scale"], settings["window"], settings["cap"]
    causal = True if settings["causal"] else None
    if cap is not None:
        causal = None if causal else False
        words = arguments(*call.arguments, cap=cap, window=window, causal=causal, scale=scale)
        return f"capped_attention({words})"
    if window is not None:
        return f"window_attention({arguments(*call.arguments, window=window, scale=scale)})"
    return f"attention({arguments(*call.arguments, causal=causal, scale=scale)})"


def _flops(n: Mapping[str, int]) -> int:
    return 2 * n["B"] * n["S"] * n["T"] * n["H"] * (n["E"] + n["F"])


RECORD = FunctionRecord(
    name="attention",
    takes="q [B, S, H, E], k [B, T, K, E], v [B, T, K, F] -> [B, S, H, F]",
    settings=(
        Setting("causal", "bool", default=False),
        Setting("window", "int", default=None, optional=True),
        Setting("scale", "float", default=None, optional=True),
        Setting("cap", "float", default=None, optional=True),
        Setting("chunk", "int", optional=True, lowered=False),
        Setting("prefix", "value", optional=True, lowered=False),
        Setting("keys", "value", optional=True, lowered=False),
        Setting("docs", "value", optional=True, lowered=False),
        Setting("sinks", "value", optional=True, lowered=False),
        Setting("bias", "value", optional=True, lowered=False),
        Setting("dropout", "float", default=0, lowered=False),
    ),
    split=("B", "H", "K"),
    construct=_construct,
    context=("S", "T"),
    flops=_flops,
    saved=lambda n: n["B"] * (2 * n["S"] * n["H"] * n["E"] + 2 * n["T"] * n["K"] * n["E"]),
    source="Vaswani et al. 2017, arXiv 1706.03762, equation 1; cap: Gemma 2, arXiv 2408.00118",
)
