"""Shape entries: ordered sums of ordered products of named dims and numbers.

An entry is a tuple of products (side by side, in order), a product a tuple of factors (major
first), and a
factor a dim's name, a number, or an entry in parentheses. `heads*hd` is `(("heads", "hd"),)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Factor: TypeAlias = Union[str, int, "Entry"]
Product: TypeAlias = tuple[Factor, ...]
Entry: TypeAlias = tuple[Product, ...]
Shape: TypeAlias = tuple[Entry, ...]

ONE: Entry = ((),)


def dim(name: str) -> Entry:
    """The entry that is one named dim."""
    return ((name,),)


def number(value: int) -> Entry:
    """The entry that is one plain number."""
    return ONE if value == 1 else ((value,),)


def product(*entries: Entry) -> Entry:
    """The entries multiplied, major first; a sum becomes one factor in parentheses."""
    factors: list[Factor] = []
    for entry in entries:
        if len(entry) == 1:
            factors.extend(entry[0])
        else:
            factors.append(entry)
    return (tuple(factors),)


def total(*entries: Entry) -> Entry:
    """The entries side by side."""
    return tuple(segment for entry in entries for segment in entry)


def names(entry: Entry) -> Iterator[str]:
    """Every named dim of an entry, in order, repeats included."""
    for segment in entry:
        for factor in segment:
            if isinstance(factor, str):
                yield factor
            elif isinstance(factor, tuple):
                yield from names(factor)


def shape_names(shape: Shape) -> tuple[str, ...]:
    """The named dims of a shape, each once, in order."""
    return tuple(dict.fromkeys(name for entry in shape for name in names(entry)))


def substitute(entry: Entry, binding: Mapping[str, Entry]) -> Entry:
    """The entry with every bound dim replaced by its entry."""
    segments: list[Product] = []
    for segment in entry:
        factors = [_substitute_factor(factor, binding) for factor in segment]
        whole = product(*factors)
        if len(entry) > 1 and len(factors) == 1 and len(factors[0]) > 1:
            segments.extend(factors[0])  # a sum inside a sum lies flat
        else:
            segments.extend(whole if len(factors) != 1 else factors[0])
    return tuple(segments)


def _substitute_factor(factor: Factor, binding: Mapping[str, Entry]) -> Entry:
    if isinstance(factor, str):
        return binding.get(factor, dim(factor))
    if isinstance(factor, int):
        return number(factor)
    return substitute(factor, binding)


def size(entry: Entry, sizes: Mapping[str, int]) -> int:
    """The number of elements of an entry, every dim's size known."""
    count = 0
    for segment in entry:
        elements = 1
        for factor in segment:
            if isinstance(factor, str):
                elements *= sizes[factor]
            elif isinstance(factor, int):
                elements *= factor
            else:
                elements *= size(factor, sizes)
        count += elements
    return count


def show(entry: Entry) -> str:
    """The entry as a spec writes it: `heads*(nope + rd)`."""
    return " + ".join(_show_product(segment) for segment in entry)


def _show_product(segment: Product) -> str:
    if not segment:
        return "1"
    return "*".join(f"({show(f)})" if isinstance(f, tuple) else str(f) for f in segment)


def show_shape(shape: Shape) -> str:
    """The shape as a spec writes it: `[B, S, heads*hd]`."""
    return "[" + ", ".join(show(entry) for entry in shape) + "]"
