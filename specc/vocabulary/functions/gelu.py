"""`gelu(x, tanh = false)`: elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import FunctionRecord, Setting

if TYPE_CHECKING:
    from specc.vocabulary.record import FunctionCall


def _construct(call: FunctionCall) -> str:
    tanh = ', approximate="tanh"' if call.settings["tanh"] else ""
    return f"F.gelu({call.arguments[0]}{tanh})"


RECORD = FunctionRecord(
    name="gelu",
    takes="x [..] -> [..]",
    settings=(Setting("tanh", "bool", default=False),),
    split=("..",),
    construct=_construct,
    flops=lambda n: 8 * n[".."],
    saved=lambda n: n[".."],
    source="Hendrycks and Gimpel 2016, arXiv 1606.08415; torch.nn.functional.gelu",
)
