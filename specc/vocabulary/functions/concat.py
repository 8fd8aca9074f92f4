"""`concat(a, b, over = D)`: values side by side, in a dim that is then their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program.dims import total
from specc.program.model import ValueType
from specc.vocabulary.record import FunctionRecord, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from specc.program.dims import Entry
    from specc.vocabulary.record import FunctionCall


def _infer(
    types: Sequence[ValueType],
    settings: Mapping[str, Entry],
    definition: Callable[[str], Entry | None],
) -> tuple[ValueType, ...] | str:
    if len(types) < 2:
        return "takes at least two values"
    shapes = [kind.shape for kind in types]
    if len({len(shape) for shape in shapes}) > 1:
        return "all values must have as many dims"
    differing = {i for i in range(len(shapes[0])) if len({shape[i] for shape in shapes}) > 1}
    at = next(iter(differing)) if len(differing) == 1 else len(shapes[0]) - 1
    if len(differing) > 1:
        return "the values may differ in one dim only"
    joined = total(*(shape[at] for shape in shapes))
    if "over" in settings:
        name = settings["over"][0][0]
        if not isinstance(name, str) or definition(name) != joined:
            return "`over` must name a dim that is defined as the sum of the joined ones"
        joined = settings["over"]
    return (ValueType(types[0].dtype, (*shapes[0][:at], joined, *shapes[0][at + 1 :])),)


def _construct(call: FunctionCall) -> str:
    return f"torch.cat(({', '.join(call.arguments)}), dim={call.dims['dim']})"


RECORD = FunctionRecord(
    name="concat",
    takes="",
    settings=(Setting("over", "dim", optional=True),),
    split=(),
    construct=_construct,
    infer=_infer,
    variadic=True,
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.cat",
)
