"""`x as [..]` as unflatten, transpose or permute, and flatten on the local part of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from specc.program.dims import ONE

if TYPE_CHECKING:
    from specc.printing.context import Context
    from specc.program.dims import Entry, Factor, Shape
    from specc.program.model import ValueType

Atom: TypeAlias = "Factor"  # an entry that is a sum counts as one


def rearranged(context: Context, value: str, source: Shape, target: Shape, kind: ValueType) -> str:
    """Text of the value in its new shape.

    Placement belongs to atoms, so the local expression is the shard of the global one, whatever is
    split:
    products are opened, atoms put in order, products closed.

    Args:
        value: an atom of Python, or in parentheses.
        kind: of the result.
    """
    text, atoms = _open(context, value, source, kind)
    wanted = [atom for entry in target for atom in _atoms(entry)]
    text = _reorder(text, atoms, wanted)
    return _close(text, target)


def _atoms(entry: Entry) -> list[Atom]:
    return list(entry[0]) if len(entry) == 1 else [entry]


def _open(context: Context, text: str, source: Shape, kind: ValueType) -> tuple[str, list[Atom]]:
    atoms: list[Atom] = []
    position = 0
    for entry in source:
        inside = _atoms(entry)
        if len(inside) > 1:
            sizes = ", ".join(context.local(_as_entry(atom), kind) for atom in inside)
            text += f".unflatten({position}, ({sizes}))"
        elif not inside:  # a dim of one: free, so dropped here and put back where it is wanted
            text += f".squeeze({position})"
        atoms.extend(inside)
        position += len(inside)
    return text, atoms


def _as_entry(atom: Atom) -> Entry:
    return atom if isinstance(atom, tuple) else ((atom,),)


def _reorder(text: str, atoms: list[Atom], wanted: list[Atom]) -> str:
    order: list[int] = []
    for atom in wanted:
        order.append(next(i for i, a in enumerate(atoms) if a == atom and i not in order))
    if order == sorted(order):
        return text
    moved = [i for i, at in enumerate(order) if i != at]
    if len(moved) == 2:
        return f"{text}.transpose({moved[0]}, {moved[1]})"
    return f"{text}.permute({', '.join(map(str, order))})"


def _close(text: str, target: Shape) -> str:
    for position, entry in enumerate(target):
        count = len(_atoms(entry))
        if entry == ONE:
            text += f".unsqueeze({position})"
        elif count > 1:
            text += f".flatten({position}, {position + count - 1})"
    return text
