"""What a rule cannot split: values with two of its dims, weights whose pieces would lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.plan.tensor import SEGMENTS, lie, splitting
from specc.program.dims import Entry, names, show, show_shape
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import TensorSplit
    from specc.program.dims import Shape
    from specc.program.model import Leaf, ValueType
    from specc.source import Span

MOST_SEGMENTS = 4  # that a help line writes out


@attrs.frozen
class Fault:
    """Why a block cannot be built with a rule; the fields are those of a report's error."""

    code: str
    span: Span
    title: str
    label: str
    helps: tuple[str, ...] = ()


def value_faults(kind: ValueType, span: Span, split: TensorSplit) -> Iterator[Fault]:
    """Two split dims in one value, and segments that are not all split."""
    mixed = next((entry for entry in kind.shape if is_mixed(entry, split)), None)
    if mixed is not None:
        yield Fault(
            "E0418",
            span,
            f"`{show(mixed)}` is split in some of its segments only",
            "side by side here",
            ("write separate parts for what is split and what is not",),
        )
        return
    found = [(entry, name) for entry in kind.shape for name in names(entry) if name in split.dims]
    entries = {entry for entry, _ in found}
    if len(found) < 2 or (len(entries) == 1 and len(found[0][0]) > 1):
        return  # segments of one sum are each split by its own dim
    shown = " and ".join(f"`{name}`" for name in sorted({name for _, name in found}))
    yield Fault(
        "E0409",
        span,
        f"{shown} are split over `{_axes(split)}`, and a value {show_shape(kind.shape)} "
        "has more than one",
        "one axis can split one dim of a tensor",
        ("leave one of them out of the rule",),
    )


def part_faults(what: Leaf, span: Span, split: TensorSplit) -> Iterator[Fault]:
    """A split dim that a part needs whole, and weights that are split wrongly."""
    record = find("parts", what.kind)
    free = (*record.split, *record.sum)
    for letter, entry in what.dims.items():
        name = splitting(entry, split)
        if letter in record.letters and letter not in free and name is not None:
            yield needs_whole(what.kind, name, span, split)
    found = list(weight_faults(what.parameters[0].shape, span, split)) if what.parameters else []
    yield from found  # of the first tensor: a bias has no dim that its weight has not
    for letter, entry in what.dims.items() if not found else ():
        built = what.kind == "Linear" and letter == "O"
        if lie(entry, split) == SEGMENTS and not built and not is_mixed(entry, split):
            yield Fault(
                "E0494",
                span,
                f"`{what.kind}` with segments side by side, `{show(entry)}`, that "
                f"`{_axes(split)}` splits is not built yet",
                "its pieces lie apart",
                ("write one part for each segment",),
            )


def weight_faults(shape: Shape, span: Span, split: TensorSplit) -> Iterator[Fault]:
    """A weight that the rule splits along two dims, or along a part of one."""
    found = [entry for entry in shape if splitting(entry, split) is not None]
    if len(found) > 1:
        first, second = (splitting(entry, split) for entry in found[:2])
        yield Fault(
            "E0409",
            span,
            f"`{first}` and `{second}` are both split over `{_axes(split)}`, and a weight "
            f"{show_shape(shape)} has both",
            "one axis can split one dim of a tensor",
            ("leave one of them out of the rule",),
        )
        return
    for segment in (segment for entry in found for segment in entry):
        name = splitting((segment,), split)
        if name is None or segment[0] == name:
            continue
        equal = "*".join([name, *(str(factor) for factor in segment if factor != name)])
        if isinstance(segment[0], int) and segment[0] <= MOST_SEGMENTS:
            equal = " + ".join(["*".join(map(str, segment[1:]))] * segment[0])
        yield Fault(
            "E0408",
            span,
            f"`{_axes(split)}` splits `{name}`, which is not the major factor of "
            f"`{show((segment,))}` in a weight {show_shape(shape)}",
            "a rank's rows would lie apart",
            (f"write `{equal}`",),
        )


def needs_whole(what: str, dim: str, span: Span, split: TensorSplit) -> Fault:
    """A use that needs a dim that the rule splits."""
    way = f"leave `{dim}` out of the rule"
    if dim == split.otherwise:
        way = "split what it computes by a dim of the rule instead, such as heads"
    title = f"`{what}` needs `{dim}` whole, and `{_axes(split)}` splits it"
    return Fault("E0410", span, title, f"needs all of `{dim}`", (way,))


def is_mixed(entry: Entry, split: TensorSplit) -> bool:
    """Whether some segments of a sum are split and some are not."""
    found = [splitting((segment,), split) is not None for segment in entry]
    return any(found) and not all(found)


def major_faults(entry: Entry, span: Span, split: TensorSplit) -> Iterator[Fault]:
    """An entry whose pieces do not lie side by side, and that is cut or joined."""
    if len(entry) == 1 and (len(entry[0]) == 1 or entry[0][0] in (*split.dims, split.otherwise)):
        return
    yield Fault(
        "E0410",
        span,
        f"`{show(entry)}` is split by a dim that is not its first, and needed whole here",
        "the ranks' pieces do not lie side by side",
        ("keep the dims apart up to here",),
    )


def _axes(split: TensorSplit) -> str:
    """The axes as a rule writes them."""
    return "*".join(split.axes)
