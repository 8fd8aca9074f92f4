"""Statements of a block with what ranks must exchange where parameters are split by their dims.

Every operation says where it needs its operands, and the exchange between that and where they lie
is a `Move`. Its transpose in backward is fixed by what the ranks do next: their own part of
something, so that gradients are summed over them, or all the same thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.plan.chains import is_exchanging, result_type
from specc.plan.faults import (
    Fault,
    is_mixed,
    major_faults,
    needs_whole,
    part_faults,
    value_faults,
)
from specc.plan.flow import types_of
from specc.plan.foreign import foreign_faults, keeps_type, several_faults, shares_of
from specc.plan.tensor import (
    WHOLE,
    WHOLE_TYPES,
    changed,
    lie,
    parameter_dim,
    place,
    splitting,
)
from specc.program import model
from specc.program.dims import Entry, names, shape_names, show
from specc.program.walk import type_of
from specc.syntax import tree
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specc.plan.facts import TensorSplit
    from specc.program.model import BlockClass, Leaf, Statement, Value, ValueType, What
    from specc.program.program import Program
    from specc.source import Span

Reads = dict[tuple[str, int], list[tuple[int, "str | None"]]]
Path = tuple[str, ...]


@attrs.frozen
class Placed:
    """A block under a tensor split.

    Args:
        statements: with every exchange.
        uses: for the path of each leaf part inside the block, whether ranks use its whole
            parameters on a piece each, so that gradients are summed over them.
    """

    statements: tuple[Statement, ...]
    uses: Mapping[tuple[str, ...], frozenset[bool]] = attrs.field(eq=False)
    faults: tuple[Fault, ...]


def place_block(program: Program, made: BlockClass, split: TensorSplit) -> Placed:
    """A block's statements with every exchange between ranks."""
    first = _Placing(program, made, split, {})
    first.run()
    last = _Placing(program, made, split, first.reads)
    last.run()
    uses = {path: frozenset(found) for path, found in last.uses.items()}
    return Placed(tuple(last.done), uses, tuple(dict.fromkeys(last.faults)))


@attrs.define(eq=False)
class _Placing:
    """One walk over a block.

    Args:
        known: reads of a walk before: which of them want the value moved, and how.
    """

    program: Program
    made: BlockClass
    split: TensorSplit
    known: Reads
    reads: Reads = attrs.field(factory=Reads)
    uses: dict[tuple[str, ...], set[bool]] = attrs.field(factory=dict[tuple[str, ...], set[bool]])
    faults: list[Fault] = attrs.field(factory=list[Fault])
    done: list[Statement] = attrs.field(factory=list["Statement"])
    versions: dict[str, int] = attrs.field(factory=dict[str, int])
    moved: dict[tuple[str, int, str], str] = attrs.field(factory=dict[tuple[str, int, str], str])
    lying: list[Value] = attrs.field(factory=list["Value"])  # placed already
    index: int = 0

    def run(self) -> None:
        """Place every statement."""
        for _, kind in self.made.inputs:
            self.check_type(kind, self.made.span)
        for index, statement in enumerate(self.made.statements):
            self.index = index
            match statement:
                case model.Assign(assigned, value):
                    placed = self.value(value)
                    self.done.append(attrs.evolve(statement, value=placed))
                    for name in assigned:
                        self.versions[name] = self.versions.get(name, 0) + 1
                case model.Return(values):
                    placed_values = tuple(self.value(value) for value in values)
                    self.done.append(attrs.evolve(statement, values=placed_values))

    def fault(self, code: str, span: Span, title: str, label: str, *helps: str) -> None:
        self.faults.append(Fault(code, span, title, label, helps))

    def check_type(self, kind: ValueType, span: Span) -> None:
        """Report what cannot be of a value."""
        self.faults += value_faults(kind, span, self.split)

    @property
    def axes(self) -> str:
        """The axes as a rule writes them."""
        return "*".join(self.split.axes)

    # --------------------------------------------------------------------------- operands

    def operand(self, value: Value, by: str | None) -> Value:
        """An operand of an operation whose result is split by a dim, or whole."""
        if isinstance(value, model.Scalar):
            return value
        kind = type_of(value)
        has = by is not None and by in shape_names(kind.shape)
        if isinstance(value, model.PartValue):
            return self.tensor(value, by, has=has)
        at = place(kind, self.split)
        if by is None:
            return self.value(value) if at is None else self.move("collect", value, at[0])
        if has:
            at_dim = next(i for i, entry in enumerate(kind.shape) if by in names(entry))
            whole = kind.dtype in WHOLE_TYPES and by == self.split.otherwise
            return self.move("piece", value, at_dim) if whole else self.value(value)
        return self.whole(value)

    def whole(self, value: Value) -> Value:
        """An operand that each rank needs all of, to go on in its own way."""
        if isinstance(value, model.Scalar):
            return value
        if isinstance(value, model.PartValue):
            return self.tensor(value, self.split.dims[0], has=False)
        kind = type_of(value)
        at = place(kind, self.split)
        if at is not None:
            return self.move("gather", value, at[0])
        if kind.dtype in WHOLE_TYPES:
            return self.value(value)
        return self.move("enter", value, None)

    def tensor(self, value: model.PartValue, by: str | None, *, has: bool) -> Value:
        """A Param or Buffer as an operand."""
        what = self.made.part(value.part).what
        assert isinstance(what, model.Leaf)
        self.check_leaf(what, value.span)
        self.use((value.part,), apart=by is not None)
        trained = what.parameters[0].trained
        stored = parameter_dim(value.type.shape, self.split) if trained else None
        if by is None or not has or stored is not None:
            return value
        at = next(i for i, entry in enumerate(value.type.shape) if by in names(entry))
        if by == self.split.otherwise:
            self.check_major(value, at)
        return model.Move("piece", value, at, value.type, value.span)

    def move(self, kind: str, value: Value, position: int | None) -> Value:
        """The moved value; of a named one under a name, so that it moves once."""
        if position is not None:
            self.check_major(value, position)
        if not isinstance(value, model.Ref):
            placed = self.value(value)
            return model.Move(kind, placed, position, type_of(value), value.span)
        version = self.versions.get(value.name, 0)
        self.reads.setdefault((value.name, version), []).append((self.index, kind))
        key = (value.name, version, kind)
        if key not in self.moved:
            name = value.name if self._all_moved(value.name, version, kind) else self._fresh(value)
            self.moved[key] = name
            made = model.Move(kind, value, position, value.type, value.span)
            self.done.append(model.Assign((name,), made, value.span))
        return attrs.evolve(value, name=self.moved[key])

    def check_major(self, value: Value, position: int) -> None:
        """Report an entry whose pieces do not lie side by side, and that is cut or joined."""
        self.faults += major_faults(type_of(value).shape[position], value.span, self.split)

    def _all_moved(self, name: str, version: int, kind: str) -> bool:
        """Whether a value is not needed where it lies any more."""
        later = [k for at, k in self.known.get((name, version), []) if at >= self.index]
        return bool(later) and all(wanted == kind for wanted in later)

    def _fresh(self, value: model.Ref) -> str:
        bound = {name for name, _ in self.made.inputs}
        bound |= {n for s in self.made.statements if isinstance(s, model.Assign) for n in s.names}
        bound |= {moved for (name, *_), moved in self.moved.items() if name != value.name}
        name = f"{value.name}_all"
        while name in bound:
            name += "_"
        return name

    def use(self, path: tuple[str, ...], *, apart: bool) -> None:
        """Note a use of a part's parameters."""
        self.uses.setdefault(path, set()).add(apart)

    # ----------------------------------------------------------------------------- values

    def value(self, value: Value) -> Value:
        """A value where its type says that it lies."""
        if any(value is each for each in self.lying):
            return value
        for kind in types_of(value):
            self.check_type(kind, value.span)
        return self._placed(value)

    def _placed(self, value: Value) -> Value:
        match value:
            case model.Ref(name):
                read = (name, self.versions.get(name, 0))
                self.reads.setdefault(read, []).append((self.index, None))
                return value
            case model.PartValue():
                at = place(value.type, self.split)
                return self.tensor(value, at[1] if at is not None else None, has=True)
            case model.Scalar() | model.Move():
                return value
            case model.Cast(inner, kind):
                at = place(kind, self.split)
                return attrs.evolve(value, value=self.operand(inner, at[1] if at else None))
            case model.Rearrange(inner):
                return attrs.evolve(value, value=self.value(inner))
            case model.Arithmetic(_, left, right):
                at = place(value.type, self.split)
                by = at[1] if at else None
                first = self.operand(left, by)
                second = None if right is None else self.operand(right, by)
                return attrs.evolve(value, left=first, right=second)
            case model.ApplyFunction():
                return self.function(value)
            case model.ApplyPart():
                return self.part(value)

    # ------------------------------------------------------------------------------ parts

    def part(self, value: model.ApplyPart) -> Value:
        what = self.made.part(value.part).what
        if isinstance(what, model.Chain) and self.is_exchanging(what):
            return self.chain(value, what)
        if isinstance(what, model.Leaf):
            return self.leaf(what, (value.part,), value)
        if isinstance(what, model.PartList) and self.is_exchanging(what):
            self.fault_inside(value.span)
        if isinstance(what, model.Foreign):
            return self.foreign(what, (value.part,), value)
        self.note(what, (value.part,), value)
        return attrs.evolve(value, arguments=tuple(map(self.value, value.arguments)))

    def fault_inside(self, span: Span) -> None:
        """Report a list, or a chain in a chain, whose elements exchange values."""
        self.fault(
            "E0494",
            span,
            "a list, or a chain in a chain, whose elements are split inside is not built yet",
            "an element exchanges values between ranks",
            "put the element into a block of its own",
        )

    def is_exchanging(self, what: What) -> bool:
        """Whether applying a part exchanges values beside those of blocks inside it."""
        return is_exchanging(self.program, what, self.split)

    def note(self, what: What, path: tuple[str, ...], value: model.ApplyPart) -> None:
        """Note how a part that exchanges nothing uses its parameters."""
        match what:
            case model.Leaf():
                at = place(value.types[0], self.split)
                self.check_leaf(what, value.span)
                self.use(path, apart=at is not None)
            case model.Chain(items) | model.PartList(items):
                for number, item in enumerate(items):
                    inner = str(number) if isinstance(what, model.Chain) else "*"
                    self.note(item, (*path, inner), value)
            case model.Foreign():
                self.use(path, apart=place(value.types[0], self.split) is not None)
            case model.Instance():
                pass

    def chain(self, value: model.ApplyPart, what: model.Chain) -> Value:
        """A chain in which ranks exchange values: its elements, one after the other."""
        (result,) = value.arguments
        for number, item in enumerate(what.items):
            kind = result_type(self.program, item, type_of(result))
            if number == len(what.items) - 1:
                kind = value.types[0]
            index = tree.Number(number, "", str(number), value.span)
            applied = model.ApplyPart(value.part, index, (result,), (kind,), value.span)
            path = (value.part, str(number))
            self.check_type(kind, value.span)
            if isinstance(item, model.Leaf):
                result = self.leaf(item, path, applied)
            elif isinstance(item, model.Foreign):
                declared = self.program.externs[item.extern].declaration
                if number < len(what.items) - 1 and not keeps_type(declared):
                    self.fault_inside(value.span)
                result = self.foreign(item, path, applied)
            else:
                if self.is_exchanging(item):
                    self.fault_inside(value.span)
                self.note(item, path, applied)
                result = attrs.evolve(applied, arguments=(self.value(result),))
            self.lying.append(result)
        return result

    def leaf(self, what: Leaf, path: Path, value: model.ApplyPart) -> Value:
        """One part of the vocabulary applied."""
        (argument,) = value.arguments
        at = place(value.types[0], self.split)
        by = at[1] if at is not None else None
        self.check_leaf(what, value.span)
        match what.kind:
            case "Linear":
                out, into = lie(what.dims["O"], self.split), lie(what.dims["I"], self.split)
                if out != WHOLE:
                    self.use(path, apart=True)
                    return attrs.evolve(value, arguments=(self.whole(argument),))
                if into != WHOLE:
                    inner = attrs.evolve(value, arguments=(self.value(argument),))
                    return self.row(path, inner, what)
            case "Embedding":
                if lie(what.dims["V"], self.split) != WHOLE:
                    return self.reduced(attrs.evolve(value, arguments=(self.value(argument),)))
                if lie(what.dims["D"], self.split) != WHOLE:
                    by = None
            case _:
                pass
        self.use(path, apart=at is not None)
        return attrs.evolve(value, arguments=(self.operand(argument, by),))

    def row(self, path: tuple[str, ...], value: model.ApplyPart, what: Leaf) -> Value:
        """A Linear from pieces: the sum over ranks, and the bias once."""
        reduced = self.reduced(value)
        if not any(parameter.name == "bias" for parameter in what.parameters):
            return reduced
        self.use(path, apart=place(value.types[0], self.split) is not None)
        kind = attrs.evolve(value.types[0], shape=value.types[0].shape[-1:])
        name = value.part if len(path) == 1 else f"{path[0]}[{path[1]}]"
        bias = model.PartValue(f"{name}.bias", kind, value.span)
        return model.Arithmetic("+", reduced, bias, value.types[0], value.span)

    def reduced(self, value: model.ApplyPart | model.ApplyFunction) -> Value:
        """The sum over ranks, where the type says that it lies."""
        kind = value.types[0]
        at = place(kind, self.split)
        if at is None:
            return model.Move("sum_over", value, None, kind, value.span)
        return model.Move("scatter_sum", value, at[0], kind, value.span)

    def check_leaf(self, what: Leaf, span: Span) -> None:
        """Report a split dim that a part needs whole, and weights that are split wrongly."""
        self.faults += part_faults(what, span, self.split)

    def needs_whole(self, what: str, dim: str, span: Span) -> None:
        """Report a use that needs a dim that the rule splits."""
        self.faults.append(needs_whole(what, dim, span, self.split))

    # -------------------------------------------------------------------------- functions

    def function(self, call: model.ApplyFunction) -> Value:
        if call.foreign:
            used = model.Foreign(call.function, call.dims, (), call.span)
            return self.foreign(used, (), call)
        if call.function == "attention":
            return self.attention(call)
        record = find("functions", call.function)
        if record.takes:
            needed = [
                name
                for letter, entry in call.dims.items()
                if letter not in record.split
                for name in names(entry)
            ]
        else:
            needed = [name for entry in changed(call) for name in names(entry)]
            if any(is_mixed(entry, self.split) for entry in changed(call)):
                needed = []  # said of the value that is given
            if call.function in ("split", "concat") and self._by_segments(call):
                return attrs.evolve(call, arguments=tuple(map(self.value, call.arguments)))
        return self.with_whole(call, call.function, needed)

    def _by_segments(self, call: model.ApplyFunction) -> bool:
        """Whether a value is taken apart, or put together, by segments that are all split."""
        entries = [e for e in changed(call) if splitting(e, self.split) is not None]
        return bool(entries) and len(entries) == len(changed(call))

    def with_whole(
        self,
        value: model.ApplyFunction | model.ApplyPart,
        what: str,
        needed: Iterable[str],
    ) -> Value:
        """A call that needs some dims whole: on pieces if none of them is split, else on all."""
        kinds = [type_of(a) for a in value.arguments if not isinstance(a, model.Scalar)]
        given = [place(kind, self.split) for kind in kinds]
        results = [place(kind, self.split) for kind in value.types]
        split = {at[1] for at in (*given, *results) if at is not None}
        lacking = [name for name in needed if name in split]
        if lacking:
            if any(at is not None for at in results):
                self.needs_whole(what, lacking[0], value.span)
                return value
            arguments = tuple(self.operand(a, None) for a in value.arguments)
            return attrs.evolve(value, arguments=arguments)
        by = next((at[1] for at in results if at is not None), None)
        return attrs.evolve(value, arguments=tuple(self.operand(a, by) for a in value.arguments))

    def foreign(
        self, what: model.Foreign, path: Path, value: model.ApplyFunction | model.ApplyPart
    ) -> Value:
        """An extern: on pieces of what it declares, and on all of everything else."""
        shares, split = shares_of(self.program, what), self.split
        self.faults += foreign_faults(self.program, what, value.types, value.span, split)
        given = [type_of(a) for a in value.arguments if not isinstance(a, model.Scalar)]
        mine = shares.apart(split, given)
        places = [place(kind, split) for kind in (*given, *value.types)]
        results = [at for at in places[len(given) :] if at is not None]
        self.use(path, apart=bool(mine or results))
        if mine:
            by = (_dim_of(a, mine) or mine[0] for a in value.arguments)
            placed = map(self.operand, value.arguments, by)
            made = attrs.evolve(value, arguments=tuple(placed))
            if not set(mine) & set(shares.sum):
                return made
            self.faults += several_faults(made.types, value.span)
            return self.reduced(made)
        dims = {at[1] for at in places if at is not None}
        if dims & set(shares.whole) and results and {at[1] for at in results} == {split.otherwise}:
            made = attrs.evolve(value, arguments=tuple(map(self.whole, value.arguments)))
            self.faults += several_faults(made.types, value.span)
            return model.Move("piece", made, results[0][0], value.types[0], value.span)
        return self.with_whole(value, what.extern, shares.whole)

    def attention(self, call: model.ApplyFunction) -> Value:
        """Each rank its own heads, with the key heads that they share."""
        heads, kv = splitting(call.dims["H"], self.split), splitting(call.dims["K"], self.split)
        for letter in ("E", "F", "B", "S", "T"):
            name = splitting(call.dims[letter], self.split)
            if name is not None:
                self.needs_whole("attention", name, call.span)
        queries, *keys = call.arguments
        if heads is None:
            if kv is not None:
                shown = show(call.dims["H"])
                title = f"`{self.axes}` splits the key heads `{kv}` and not the heads `{shown}`"
                way = f"name `{shown}` in the rule, too" if _is_name(shown) else "split both"
                self.fault("E0410", call.span, title, "each rank needs the keys of its heads", way)
            elif (rest := self.split.otherwise) is not None and rest in names(call.dims["S"]):
                self.needs_whole("attention", rest, call.span)
            return attrs.evolve(call, arguments=tuple(map(self.value, call.arguments)))
        arguments = [self.value(queries)]
        for key in keys:
            placed = self.value(key) if kv is not None else self.shared(key, call.dims["H"])
            arguments.append(placed)
        return attrs.evolve(call, arguments=tuple(arguments))

    def shared(self, key: Value, heads: Entry) -> Value:
        """Of keys or values that every rank has, the heads that this rank's queries use."""
        kind = type_of(key)
        return model.Move("shared_heads", self.whole(key), None, kind, key.span, heads)


def _dim_of(value: Value, dims: tuple[str, ...]) -> str | None:
    """The first of these dims that a value has."""
    shapes = [kind.shape for kind in types_of(value)]
    return next((dim for dim in dims for shape in shapes if dim in shape_names(shape)), None)


def _is_name(text: str) -> bool:
    return text.isidentifier()
