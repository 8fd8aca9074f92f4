"""`x as [..]`: the same atoms in another grouping or order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from specc.program import model
from specc.program.dims import dim, product, show, show_shape
from specc.resolve.scope import Unresolved
from specc.syntax import tree

if TYPE_CHECKING:
    from specc.program.dims import Entry, Factor, Shape
    from specc.program.model import Value, ValueType
    from specc.resolve.scope import Bound
    from specc.resolve.values import Values
    from specc.source import Span


def rearrange(
    values: Values, value: Value, kind: ValueType, written: tree.Shape, span: Span
) -> model.Rearrange:
    """The value rearranged to a written shape; dims that are products open where that is needed."""
    bound = values.body.bound
    target = _target(bound, kind.shape, written)
    source, opened = kind.shape, target
    left, right = Counter(_atoms(source)), Counter(_atoms(opened))
    for _ in range(8):
        left, right = Counter(_atoms(source)), Counter(_atoms(opened))
        if left == right:
            return model.Rearrange(value, source, opened, model.ValueType(kind.dtype, target), span)
        wider = _open(bound, source, left - right), _open(bound, opened, right - left)
        if wider == (source, opened):
            break
        source, opened = wider
    _report(values, kind.shape, target, written, left - right, right - left)
    raise Unresolved


def _target(bound: Bound, shape: Shape, written: tree.Shape) -> Shape:
    """The entries as written, `..` replaced by the leading dims of the block's input."""
    if bound.leading is None and any(isinstance(e, tree.Others) for e in written.entries):
        fixed = len([e for e in written.entries if not isinstance(e, tree.Others)])
        bound.report.error(
            "E0219",
            written.span,
            "`..` stands for the leading dims of the block's input, and there are none",
            f"{fixed} entries are written, the value has {len(shape)}",
            helps=["write the dims out"],
        )
        raise Unresolved
    return bound.shape(written)


def _atoms(shape: Shape) -> list[Factor]:
    """Factors of all entries; a sum counts as one; ones are free."""
    atoms: list[Factor] = []
    for entry in shape:
        if len(entry) == 1:
            atoms.extend(entry[0])
        else:
            atoms.append(entry)
    return atoms


def _open(bound: Bound, shape: Shape, surplus: Counter[Factor]) -> Shape:
    """The shape with those surplus dims replaced by their definitions that have one."""
    return tuple(_open_entry(bound, entry, surplus) for entry in shape)


def _open_entry(bound: Bound, entry: Entry, surplus: Counter[Factor]) -> Entry:
    if len(entry) != 1:
        return entry
    factors: list[Entry] = []
    for factor in entry[0]:
        whole = dim(factor) if isinstance(factor, str) else ((factor,),)
        defined = (
            definition_of(bound, factor) if isinstance(factor, str) and factor in surplus else None
        )
        factors.append(defined if defined is not None else whole)
    return product(*factors)


def definition_of(bound: Bound, name: str) -> Entry | None:
    """What a dim is defined as, if that is a product or sum of dims; None otherwise."""
    declared = bound.scope.dims.get(name)
    if declared is None or isinstance(declared.size, (tree.Name, tree.Number)):
        return None
    return _defined(bound, declared.size)


def _defined(bound: Bound, expr: tree.Expr) -> Entry | None:
    match expr:
        case tree.Name(name) if name in bound.scope.dims:
            return dim(name)
        case tree.Number(value, "") if isinstance(value, int) and value > 0:
            return ((value,),) if value > 1 else ((),)
        case tree.Group(inner):
            return _defined(bound, inner)
        case tree.Binary("*" | "+" as op, left, right):
            one, two = _defined(bound, left), _defined(bound, right)
            if one is None or two is None:
                return None
            return product(one, two) if op == "*" else (*one, *two)
        case _:
            return None


def _report(
    values: Values,
    shape: Shape,
    target: Shape,
    written: tree.Shape,
    missing: Counter[Factor],
    extra: Counter[Factor],
) -> None:
    words: list[str] = []
    if missing:
        words.append("left over: " + ", ".join(_atom(atom) for atom in missing.elements()))
    if extra:
        words.append("not in the value: " + ", ".join(_atom(atom) for atom in extra.elements()))
    values.report.error(
        "E0214",
        written.span,
        f"`as {show_shape(target)}` does not hold the same dims as {show_shape(shape)}",
        "; ".join(words),
    )


def _atom(atom: Factor) -> str:
    return show(atom) if isinstance(atom, tuple) else str(atom)
