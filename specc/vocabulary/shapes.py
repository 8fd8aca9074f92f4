"""Result shapes of functions that name a dim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program.dims import show, show_shape
from specc.program.model import ValueType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from specc.program.dims import Entry


def without(
    types: Sequence[ValueType],
    settings: Mapping[str, Entry],
    _definition: Callable[[str], Entry | None],
) -> tuple[ValueType, ...] | str:
    """The value's shape less the dim `over`."""
    problem = _named_dim(types, settings)
    if problem:
        return problem
    kind = types[0]
    return (ValueType(kind.dtype, tuple(e for e in kind.shape if e != settings["over"])),)


def keeping(
    types: Sequence[ValueType],
    settings: Mapping[str, Entry],
    _definition: Callable[[str], Entry | None],
) -> tuple[ValueType, ...] | str:
    """The value's shape as it is, which must have the dim `over`."""
    return _named_dim(types, settings) or (types[0],)


def _named_dim(types: Sequence[ValueType], settings: Mapping[str, Entry]) -> str:
    if len(types) != 1:
        return f"takes one value, and is given {len(types)}"
    if "over" not in settings:
        return "say the dim: `over = S`"
    found = sum(entry == settings["over"] for entry in types[0].shape)
    if found != 1:
        count = "more than one" if found else "no"
        return f"`{show(settings['over'])}` is {count} dim of {show_shape(types[0].shape)}"
    return ""
