"""`ring(zigzag = false)`: attention over split tokens whose keys and values travel around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import MethodRecord, Raw, Setting
from specc.vocabulary.texts import arguments

if TYPE_CHECKING:
    from specc.vocabulary.record import FunctionCall, Settings


def _construct(call: FunctionCall, group: str, method: Settings) -> str:
    given = call.settings
    window, cap, scale = given["window"], given["cap"], given["scale"]
    if method["zigzag"]:
        words = arguments(*call.arguments, group, window=window, cap=cap, scale=scale)
        return f"zigzag_attention({words})"
    # attention with a window is causal, also where a constructor argument says that it has none
    causal = True if given["causal"] or (isinstance(window, Raw) and cap is None) else None
    words = arguments(*call.arguments, group, causal=causal, window=window, cap=cap, scale=scale)
    return f"ring_attention({words})"


RECORD = MethodRecord(
    name="ring",
    settings=(Setting("zigzag", "bool", default=False),),
    construct=_construct,
)
