"""Where values and parameters lie if a rule splits parameters by their dims.

Where a value lies follows from the dims of its type alone: with a dim of the rule it is split along
that dim, else along the dim of `else` if it has it, else it is whole on every rank. Integers and
truth values are whole always: every rank can compute all of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.flow import types_of
from specc.program import model
from specc.program.dims import Entry, names, size
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.plan.facts import Layout, TensorSplit
    from specc.program.dims import Shape
    from specc.program.model import ValueType
    from specc.program.program import LossTerm


WHOLE_TYPES = ("i64", "bool")
# How the weight of a Linear or Embedding lies.
COLUMNS, SEGMENTS, WHOLE = "columns", "segments", "whole"


# ------------------------------------------------------------------------------------- where


def splitting(entry: Entry, split: TensorSplit) -> str | None:
    """The dim of the rule in an entry of a value; the first of several."""
    return next((name for name in names(entry) if name in split.dims), None)


def place(kind: ValueType, split: TensorSplit) -> tuple[int, str] | None:
    """Position of the entry along which ranks have pieces of a value, and the dim that it is by."""
    shape = kind.shape
    for position, entry in enumerate(shape):
        name = splitting(entry, split)
        if name is not None:
            return position, name
    if split.otherwise is None or kind.dtype in WHOLE_TYPES:
        return None
    found = (i for i, entry in enumerate(shape) if split.otherwise in names(entry))
    return next(((i, split.otherwise) for i in found), None)


def axes_in(kind: ValueType, layout: Layout) -> list[tuple[str, ...]]:
    """Leaf axes that split each entry of a value, outermost first."""
    split = layout.tensor
    at = place(kind, split) if split is not None else None
    found: list[tuple[str, ...]] = []
    for position, entry in enumerate(kind.shape):
        axes = tuple(axis for name in dict.fromkeys(names(entry)) for axis in layout.axes_of(name))
        if split is not None and at is not None and position == at[0]:
            axes = (*axes, *split.axes)
        found.append(axes)
    return found


def lie(entry: Entry, split: TensorSplit) -> str:
    """How a parameter lies along an entry of its shape."""
    major = [bool(segment) and segment[0] in split.dims for segment in entry]
    if not any(name in split.dims for name in names(entry)):
        return WHOLE
    return COLUMNS if len(entry) == 1 and all(major) else SEGMENTS


def parameter_dim(shape: Shape, split: TensorSplit | None) -> int | None:
    """The dim along which a parameter is split; None if every rank has all of it.

    One with segments side by side is whole: its pieces lie apart from each other.
    """
    if split is None:
        return None
    found = (i for i, entry in enumerate(shape) if lie(entry, split) == COLUMNS)
    return next(found, None)


def shared_heads(heads: int, kv: int, degree: int) -> int:
    """Number of key heads that a rank keeps for its query heads, where every rank has all of them.

    Where groups of query heads do not end where ranks do, every query head gets a copy.
    """
    group, mine = heads // kv, heads // degree
    if mine % group == 0:
        return mine // group
    return 1 if group % mine == 0 else mine


def local_heads(
    call: model.ApplyFunction, split: TensorSplit | None, degree: int, sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Query and key heads of an attention on one rank of the tensor split."""
    heads, kv = size(call.dims["H"], sizes), size(call.dims["K"], sizes)
    if split is None or splitting(call.dims["H"], split) is None:
        return heads, kv
    if splitting(call.dims["K"], split) is not None:
        return heads // degree, kv // degree
    return heads // degree, shared_heads(heads, kv, degree)


# --------------------------------------------------------------------------------------- loss


def loss_place(term: LossTerm, split: TensorSplit | None) -> str:
    """How ranks of the tensor split share a term of the loss.

    Returns:
        `classes`: each has all of the term, from its piece of the class dim; `split`: each has the
        sum over its piece of the elements; `whole`: each has all of the term.
    """
    at = place(term.types[0], split) if split is not None else None
    if at is None:
        return "whole"
    has_classes = bool(find("losses", term.function).whole)
    return "classes" if has_classes and at[0] == len(term.types[0].shape) - 1 else "split"


def changed(call: model.ApplyFunction) -> list[Entry]:
    """Entries that a call without a signature takes apart, joins or runs over."""
    given = {entry for value in call.arguments for kind in types_of(value) for entry in kind.shape}
    made = {entry for kind in call.types for entry in kind.shape}
    over = [call.dims["over"]] if "over" in call.dims else []
    return [*(given ^ made), *over]
