"""Signatures over letters: `x [.., I] -> [.., O]`, and matching them against shapes."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import attrs

from specc.program.model import ValueType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specc.program.dims import Entry, Shape
    from specc.vocabulary.record import Binding

_OPERAND = re.compile(r"(?:(?P<name>[a-z_]+) )?(?P<dtype>[a-z]+\d+)?\[(?P<letters>[^\]]*)\]")


@attrs.frozen
class Operand:
    """One tensor of a signature; `dtype` is None where any float will do."""

    name: str
    dtype: str | None
    letters: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.dtype or ''}[{', '.join(self.letters)}]"


@attrs.frozen
class Signature:
    """What a record takes and gives."""

    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]


@cache
def parse_signature(text: str) -> Signature:
    """The signature that a record's `takes` says."""
    takes, _, gives = text.partition("->")
    return Signature(_operands(takes), _operands(gives))


def _operands(text: str) -> tuple[Operand, ...]:
    return tuple(
        Operand(
            found["name"] or "",
            found["dtype"],
            tuple(letter.strip() for letter in found["letters"].split(",") if letter.strip()),
        )
        for found in _OPERAND.finditer(text)
    )


def match(operand: Operand, shape: Shape, binding: Binding) -> str | None:
    """Bind letters to a shape; gives the letter that does not fit, `#` for another rank."""
    letters: Sequence[str] = operand.letters
    entries: Sequence[Entry] = shape
    if letters and letters[0] == "..":
        fixed = len(letters) - 1
        if len(entries) < fixed:
            return "#"
        leading = tuple(entries[: len(entries) - fixed])
        if binding.leading is None:
            binding.leading = leading
        if binding.leading != leading:
            return ".."
        letters, entries = letters[1:], entries[len(leading) :]
    if len(letters) != len(entries):
        return "#"
    for letter, entry in zip(letters, entries, strict=True):
        if binding.letters.setdefault(letter, entry) != entry:
            return letter
    return None


def result_types(signature: Signature, binding: Binding, dtype: str) -> tuple[ValueType, ...]:
    """Types of the results once every letter is bound; `dtype` for those that name none."""
    types: list[ValueType] = []
    for operand in signature.results:
        shape: list[Entry] = []
        for letter in operand.letters:
            shape.extend(binding.leading or () if letter == ".." else (binding.letters[letter],))
        types.append(ValueType(operand.dtype or dtype, tuple(shape)))
    return tuple(types)
