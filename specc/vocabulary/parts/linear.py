"""`Linear(I -> O, bias = true)`: a matrix applied to the last dim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import PartRecord, Setting, Weight

if TYPE_CHECKING:
    from specc.vocabulary.record import DimTexts, Lie, Settings


def _construct(dims: DimTexts, settings: Settings) -> str:
    bias = "" if settings["bias"] else ", bias=False"
    return f"nn.Linear({dims['I']}, {dims['O']}{bias})"


def _local(dims: DimTexts, settings: Settings, lie: Lie) -> str:
    bias = "" if settings["bias"] else ", bias=False"
    if lie.segments:
        segments = f"({', '.join(lie.segments)})"
        return f"SegmentedLinear({dims['I']}, {segments}, {lie.group}{bias})"
    name = "RowLinear" if lie.summed else "LocalLinear"
    return f"{name}({dims['I']}, {dims['O']}{bias})"


RECORD = PartRecord(
    name="Linear",
    arguments="arrow",
    letters=("I", "O"),
    takes="x [.., I] -> [.., O]",
    settings=(Setting("bias", "bool", default=True),),
    weights=(
        Weight("weight", ("O", "I"), "fan_in"),
        Weight("bias", ("O",), "fan_in_bias", when="bias"),
    ),
    split=("..", "O"),
    sum=("I",),
    construct=_construct,
    local=_local,
    flops=lambda n: 2 * n[".."] * n["I"] * n["O"],
    saved=lambda n: n[".."] * n["I"],
    source="torch.nn.Linear",
)
