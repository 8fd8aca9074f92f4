"""`ring(zigzag = false)`: attention over split tokens whose keys and values travel around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import MethodRecord, Setting
from specc.vocabulary.texts import arguments

if TYPE_CHECKING:
    from specc.vocabulary.record import FunctionCall


def _construct(call: FunctionCall, group: str) -> str:
    causal = True if call.settings["causal"] else None
    words = arguments(*call.arguments, group, causal=causal, scale=call.settings["scale"])
    return f"ring_attention({words})"


RECORD = MethodRecord(
    name="ring",
    settings=(Setting("zigzag", "bool", default=False, lowered=False),),
    construct=_construct,
)
