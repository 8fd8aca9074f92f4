"""`clamp(x, min = a, max = b)`: elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import FunctionRecord, Setting
from specc.vocabulary.texts import arguments, method

if TYPE_CHECKING:
    from specc.vocabulary.record import FunctionCall


def _construct(call: FunctionCall) -> str:
    bounds = arguments(min=call.settings["min"], max=call.settings["max"])
    return method(call.arguments[0], f".clamp({bounds})")


RECORD = FunctionRecord(
    name="clamp",
    takes="x [..] -> [..]",
    settings=(
        Setting("min", "float", default=None, optional=True),
        Setting("max", "float", default=None, optional=True),
    ),
    split=("..",),
    construct=_construct,
    flops=lambda n: 2 * n[".."],
    saved=lambda n: n[".."],
    source="torch.clamp",
)
