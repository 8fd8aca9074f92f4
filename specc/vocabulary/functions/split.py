"""`q, k, v = split(x)`: takes the one sum of a shape apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program.model import ValueType
from specc.vocabulary.record import FunctionRecord
from specc.vocabulary.texts import method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from specc.program.dims import Entry
    from specc.vocabulary.record import FunctionCall


def _infer(
    types: Sequence[ValueType],
    _settings: Mapping[str, Entry],
    definition: Callable[[str], Entry | None],
) -> tuple[ValueType, ...] | str:
    if len(types) != 1:
        return f"takes one value, and is given {len(types)}"
    shape = types[0].shape
    opened = shape
    if not any(len(entry) > 1 for entry in shape):
        opened = tuple(_opened(entry, definition) for entry in shape)
    sums = [i for i, entry in enumerate(opened) if len(entry) > 1]
    if len(sums) != 1:
        return "exactly one dim must be a sum, such as `Linear(d -> a + b)` gives"
    at = sums[0]
    return tuple(
        ValueType(types[0].dtype, (*shape[:at], (segment,), *shape[at + 1 :]))
        for segment in opened[at]
    )


def _opened(entry: Entry, definition: Callable[[str], Entry | None]) -> Entry:
    if len(entry) == 1 and len(entry[0]) == 1 and isinstance(entry[0][0], str):
        defined = definition(entry[0][0])
        return defined if defined is not None and len(defined) > 1 else entry
    return entry


def _construct(call: FunctionCall) -> str:
    sizes = call.dims["sizes"]
    return method(call.arguments[0], f".split([{sizes}], dim={call.dims['dim']})")


RECORD = FunctionRecord(
    name="split",
    takes="",
    settings=(),
    split=(),
    construct=_construct,
    infer=_infer,
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.Tensor.split",
)
