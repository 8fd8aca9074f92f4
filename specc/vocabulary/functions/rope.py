"""`rope(x, theta)`: rotary position embedding of queries and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.find import find
from specc.vocabulary.record import REQUIRED, Constructor, FunctionRecord, Setting
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from specc.vocabulary.record import FunctionCall


def _construct(call: FunctionCall) -> str:
    settings = call.settings
    rotated = call.dims["E"]
    if settings["fraction"] != 1:
        rotated = f"int({rotated} * {settings['fraction']})"
    frequencies = f"rope_frequencies({rotated}, {number_text(settings['theta'])}, {call.device})"
    scaling = settings["scaling"]
    if isinstance(scaling, Constructor):
        frequencies = find("words", scaling.name).construct(frequencies, scaling.settings)
    function = "rope" if settings["layout"] == "half" else "rope_interleaved"
    start = call.dims.get("start:S", "0")
    begin = f", {start}" if start != "0" else ""
    return f"{function}({call.arguments[0]}, {frequencies}{begin})"


RECORD = FunctionRecord(
    name="rope",
    takes="x [.., S, H, E] -> [.., S, H, E]",
    settings=(
        Setting("theta", "float", default=REQUIRED),
        Setting("layout", "word", default="half", choices=("half", "interleaved")),
        Setting("fraction", "float", default=1),
        Setting(
            "scaling",
            "constructor",
            default=None,
            choices=("linear", "llama3", "yarn"),
            optional=True,
        ),
        Setting("positions", "value", default=None, optional=True, lowered=False),
    ),
    split=("..", "S", "H"),
    construct=_construct,
    positional=("theta",),
    flops=lambda n: 6 * n[".."] * n["S"] * n["H"] * n["E"],
    saved=lambda _: 0,
    source="Su et al. 2021, arXiv 2104.09864, equation 34",
)
