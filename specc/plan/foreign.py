"""What ranks of a tensor split have of an extern: by what it declares of its dims."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from specc.plan.faults import Fault, is_mixed, needs_whole, weight_faults
from specc.plan.tensor import COLUMNS, WHOLE_TYPES, lie, place
from specc.program.dims import names, shape_names, show, show_shape
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from specc.plan.facts import TensorSplit
    from specc.program import model
    from specc.program.dims import Entry
    from specc.program.model import ValueType
    from specc.program.program import Constant, Program
    from specc.source import Span


@attrs.frozen
class Shares:
    """Dims with which an extern is used, by what it declares of them.

    Args:
        split: it works on a piece of these alone.
        sum: its result on the whole is the sum of those on the pieces.
        whole: it needs all of these.
    """

    split: tuple[str, ...]
    sum: tuple[str, ...]
    whole: tuple[str, ...]

    @classmethod
    def of(cls, declared: tree.Extern, dims: Mapping[str, Entry]) -> Shares:
        """The shares of an extern whose own dims are bound to these entries."""
        words = {dim.name: "split" for dim in declared.split}
        words |= {dim.name: "sum" for dim in declared.sum}
        found: dict[str, list[str]] = {"split": [], "sum": [], "whole": []}
        for formal, entry in dims.items():
            found[words.get(formal, "whole")] += names(entry)
        return cls(**{word: tuple(dict.fromkeys(each)) for word, each in found.items()})

    def apart(self, split: TensorSplit, given: Iterable[ValueType]) -> tuple[str, ...]:
        """Dims of which each rank of a rule has a piece inside; values of these types are given."""
        mine = tuple(name for name in (*self.split, *self.sum) if name in split.dims)
        if mine or split.otherwise not in self.sum:
            return mine
        places = [place(kind, split) for kind in given]
        return tuple(at[1] for at in places if at is not None and at[1] == split.otherwise)[:1]

    def is_moved(self, split: TensorSplit) -> bool:
        """Whether ranks may exchange something for it."""
        found = {*split.dims, split.otherwise}
        return bool(self.apart(split, ()) or found & {*self.sum, *self.whole})


def shares_of(program: Program, what: model.Foreign) -> Shares:
    """The shares of an extern where it is used."""
    return Shares.of(program.externs[what.extern].declaration, what.dims)


def keeps_type(declared: tree.Extern) -> bool:
    """Whether an extern gives one value of the type that it takes."""
    given = [param.type.span.text for param in declared.params]
    return given == [result.type.span.text for result in declared.results]


def local_formals(
    declared: tree.Extern, dims: Mapping[str, Entry], split: TensorSplit | None
) -> frozenset[str]:
    """An extern's own dims of which each rank has a piece, so that it is made for that."""
    free = {dim.name for dim in (*declared.split, *declared.sum)}
    return frozenset(
        formal
        for formal, entry in dims.items()
        if split is not None and formal in free and set(names(entry)) & set(split.dims)
    )


# ----------------------------------------------------------------------------------- arguments


def degree(
    expr: tree.Expr, formals: frozenset[str], lets: Mapping[str, Constant]
) -> Fraction | None:
    """The power to which a number grows with these dims together; None where there is none.

    `2*ff` has 1, `d/heads` has -1, `sqrt(ff)` has 1/2 and `ff + d` has none.
    """
    match expr:
        case tree.Name(name):
            if name not in formals and name in lets:
                inside = degree(lets[name].value, formals, lets)
                return Fraction(0) if inside == 0 else None
            return Fraction(name in formals)
        case tree.Group(inner) | tree.Negate(inner):
            return degree(inner, formals, lets)
        case tree.Binary(op, left, right):
            return _combined(op, degree(left, formals, lets), degree(right, formals, lets))
        case tree.Call(tree.Name(name), arguments):
            found = {degree(each.value, formals, lets) for each in arguments}
            (power, *others) = found
            if others or power is None:
                return None
            if name in ("min", "max") or power == 0:
                return power
            return power / 2 if name == "sqrt" else None
        case _:
            return Fraction(0)


def _combined(op: str, left: Fraction | None, right: Fraction | None) -> Fraction | None:
    if left is None or right is None:
        return None
    if op in "*/":
        return left + right if op == "*" else left - right
    if op in "+-":
        return left if left == right else None
    return left if left == right == 0 else None


def is_piece(expr: tree.Expr, formals: frozenset[str], lets: Mapping[str, Constant]) -> bool:
    """Whether an argument is a size that a rank has its piece of: it grows as its dims do.

    Any other that is legal, such as the size of a head or a factor, is that of the whole.
    """
    return degree(expr, formals, lets) == 1


def arguments(declared: tree.Extern) -> Iterator[tuple[str, tree.Expr]]:
    """Name and value of every argument of the constructor, each item of a list by itself."""
    for position, argument in enumerate(declared.init or ()):
        value = argument.value
        for item in value.items if isinstance(value, tree.ListOf) else (value,):
            yield argument.name or f"argument {position + 1}", item


# -------------------------------------------------------------------------------------- faults


def foreign_faults(
    program: Program,
    what: model.Foreign,
    types: Sequence[ValueType],
    span: Span,
    split: TensorSplit,
) -> Iterator[Fault]:
    """What a rule cannot take apart of an extern that gives these types."""
    declared = program.externs[what.extern].declaration
    shares, formals = Shares.of(declared, what.dims), local_formals(declared, what.dims, split)
    for formal in sorted(formals):
        if lie(what.dims[formal], split) != COLUMNS:
            yield Fault(
                "E0410",
                span,
                f"`{formal}` of `{what.extern}` is `{show(what.dims[formal])}` here, which "
                f"`{_axes(split)}` does not split into ranges",
                "a rank's pieces lie apart",
                ("begin it with the dim of the rule, or give that dim to a part of its own",),
            )
            return
    lines = {line.name: line.type.span for line in declared.weights}
    for parameter in what.parameters:
        line = lines[parameter.name]
        yield from _parameter_faults(what.extern, parameter, shares, line, split)
    for kind in types if formals else ():
        yield from _result_faults(what.extern, kind, shares, span, split)
    yield from _argument_faults(declared, formals, program.lets, split)


def several_faults(types: Sequence[ValueType], span: Span) -> Iterator[Fault]:
    """Several results of an extern that ranks would add up, or take pieces of."""
    if len(types) > 1:
        title = "exchanging several results of an extern between ranks is not built yet"
        way = "write an extern for each of them"
        yield Fault("E0494", span, title, f"{len(types)} results here", (way,))


def _argument_faults(
    declared: tree.Extern,
    formals: frozenset[str],
    lets: Mapping[str, Constant],
    split: TensorSplit,
) -> Iterator[Fault]:
    for name, value in arguments(declared):
        power = degree(value, formals, lets)
        if power is None or (power > 1 and power.denominator == 1):
            yield Fault(
                "E0508",
                value.span,
                f"`{declared.name}` is made with `{value.span.text}`, which no rank has a piece "
                f"of, and `{_axes(split)}` splits {_listed(formals)}",
                f"{name}: it neither grows with what is split nor stays as it is",
                ("give the class the sizes that it is computed from, as arguments of their own",),
            )


def _result_faults(
    name: str, kind: ValueType, shares: Shares, span: Span, split: TensorSplit
) -> Iterator[Fault]:
    """A result that is split by other dims than the code has pieces of, or is no summand."""
    found = [dim for dim in shape_names(kind.shape) if dim in split.dims]
    added = [dim for dim in shares.sum if dim in split.dims]
    for dim in found:
        if dim in shares.whole:
            yield needs_whole(name, dim, span, split)
        elif added or dim not in shares.split:
            other = next(each for each in (*added, *shares.split) if each != dim)
            yield Fault(
                "E0409",
                span,
                f"`{other}` and `{dim}` are both split over `{_axes(split)}`, and `{name}` gives "
                f"{show_shape(kind.shape)} from pieces of the first",
                "a rank would have a piece of a part",
                (f"leave `{other}` or `{dim}` out of the rule",),
            )
    if added and kind.dtype in WHOLE_TYPES:
        title = f"adding up {kind.dtype} results of `{name}` over ranks is not built yet"
        yield Fault("E0494", span, title, f"sums over `{added[0]}`", ("give it as a float",))


def _parameter_faults(
    name: str, parameter: model.Parameter, shares: Shares, span: Span, split: TensorSplit
) -> Iterator[Fault]:
    if not parameter.trained and set(shape_names(parameter.shape)) & {*split.dims}:
        yield Fault(
            "E0494",
            span,
            f"`{_axes(split)}` splits the buffer `{name}.{parameter.name}` "
            f"{show_shape(parameter.shape)}: that is not built yet",
            "a buffer is whole on every rank",
            ("compute it in forward, or make it a parameter that is `frozen`",),
        )
        return
    ours = {*shares.split, *shares.sum} - {*shares.whole}
    for dim in shape_names(parameter.shape):
        if dim in split.dims and dim not in ours:
            fault = needs_whole(f"{name}.{parameter.name}", dim, span, split)
            ways = (f"declare `split {dim}` or `sum {dim}`, if that is what the code does",)
            yield attrs.evolve(fault, helps=(*ways, *fault.helps))
            return
    yield from weight_faults(parameter.shape, span, split)
    for entry in parameter.shape:
        if is_mixed(entry, split):
            yield Fault(
                "E0418",
                span,
                f"`{show(entry)}` is split in some of its segments only",
                f"of `{name}.{parameter.name}`",
                ("give the class separate parameters for what is split and what is not",),
            )


def _axes(split: TensorSplit) -> str:
    """The axes as a rule writes them."""
    return "*".join(split.axes)


def _listed(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(found))
