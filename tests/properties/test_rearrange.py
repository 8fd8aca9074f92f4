"""`x as [..]` on shards of a value gives shards of the rearranged value, whatever is split."""

from dataclasses import dataclass
from itertools import product as coordinates
from math import prod
from typing import TYPE_CHECKING, cast

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specc.printing.rearrange import rearranged
from specc.program.dims import Entry, Shape, names
from specc.program.model import ValueType

if TYPE_CHECKING:
    from specc.printing.context import Context

SIZES = (1, 2, 4, 6)


@dataclass(frozen=True)
class Sizes:
    """Stands for the printer's context: texts are numbers, of the whole value or of one shard."""

    sizes: dict[str, int]

    def local(self, entry: Entry, _: ValueType) -> str:
        """Text of the size of an entry."""
        return str(prod(self.sizes[name] for name in names(entry)))


@st.composite
def groupings(draw: st.DrawFn, atoms: list[str]) -> Shape:
    """The atoms in order, neighbours grouped at random."""
    entries: list[tuple[str, ...]] = []
    for atom in atoms:
        if entries and draw(st.booleans()):
            entries[-1] += (atom,)
        else:
            entries.append((atom,))
    return tuple((entry,) for entry in entries)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Shape, Shape, dict[str, int], dict[str, int]]:
    """Two groupings of the same atoms, sizes, and the degree of every atom that is split."""
    atoms = list("abcde"[: draw(st.integers(1, 5))])
    sizes = {atom: draw(st.sampled_from(SIZES)) for atom in atoms}
    degrees = {a: 2 for a in atoms if sizes[a] % 2 == 0 and draw(st.booleans())}
    source = draw(groupings(draw(st.permutations(atoms))))
    flat = [name for entry in source for name in names(entry)]
    target = draw(groupings(flat if draw(st.booleans()) else draw(st.permutations(atoms))))
    return source, target, sizes, degrees


def shard(
    value: torch.Tensor, shape: Shape, sizes: dict[str, int], place: dict[str, int]
) -> torch.Tensor:
    """The part of a value whose atoms are split in two, at one coordinate."""
    atoms = [name for entry in shape for name in names(entry)]
    value = value.reshape([sizes[atom] for atom in atoms])
    for position, atom in enumerate(atoms):
        if atom in place:
            value = value.chunk(2, dim=position)[place[atom]]
    local = {a: sizes[a] // 2 if a in place else sizes[a] for a in sizes}
    return value.reshape([prod(local[name] for name in names(entry)) for entry in shape])


def evaluated(
    sizes: dict[str, int], source: Shape, target: Shape, value: torch.Tensor
) -> torch.Tensor:
    """The value of the printed text."""
    text = rearranged(
        cast("Context", Sizes(sizes)), "x", source, target, ValueType("float", target)
    )
    return eval(text, {"x": value})  # noqa: S307  the text that is tested


@given(cases())
@settings(max_examples=400, deadline=None)
def test_rearranging_a_shard_gives_the_shard_of_the_rearranged(
    case: tuple[Shape, Shape, dict[str, int], dict[str, int]],
) -> None:
    source, target, sizes, degrees = case
    shape = [prod(sizes[name] for name in names(entry)) for entry in source]
    whole = torch.arange(prod(shape)).reshape(shape)
    expected = evaluated(sizes, source, target, whole)
    local = {a: sizes[a] // degrees.get(a, 1) for a in sizes}
    for place in coordinates(range(2), repeat=len(degrees)):
        where = dict(zip(degrees, place, strict=True))
        actual = evaluated(local, source, target, shard(whole, source, sizes, where))
        assert torch.equal(actual, shard(expected, target, sizes, where))
