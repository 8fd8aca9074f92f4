"""The dataflow of blocks and losses as JSON in which no name of a dim, block or value is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from specc.program import model
from specc.program.dims import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from specc.plan.facts import Facts, Module
    from specc.program.dims import Entry, Shape
    from specc.program.model import Value, ValueType
    from specc.program.program import LossTerm

Json = Any


def sizes_of(shape: Shape, sizes: Mapping[str, int]) -> list[int]:
    """Sizes of a shape."""
    return [size(entry, sizes) for entry in shape]


def body_of(module: Module, sizes: Mapping[str, int], canonical: Callable[[object], Json]) -> Json:
    """The statements of a block: values numbered in the order in which they are bound."""
    made = module.block
    assert made is not None
    writer = _Writer(module, sizes, canonical)
    writer.bind(name for name, _ in made.inputs)
    lines: list[Json] = [[kind.dtype, sizes_of(kind.shape, sizes)] for _, kind in made.inputs]
    for statement in made.statements:
        match statement:
            case model.Assign(names, value):
                lines.append([len(names), writer.value(value)])
                writer.bind(names)
            case model.Return(values):
                lines.append([writer.value(value) for value in values])
    return lines


def loss_arguments(facts: Facts, term: LossTerm) -> Json:
    """Arguments of a loss: results of the model by position, fields by name."""
    made = facts.model.block
    results = [name for name, _ in made.results] if made is not None else []
    return [results.index(name) if name in results else name for name in term.arguments]


@attrs.define
class _Writer:
    module: Module
    sizes: Mapping[str, int]
    canonical: Callable[[object], Json]
    numbers: dict[str, int] = attrs.field(factory=dict[str, int])
    count: int = 0

    def bind(self, names: Iterable[str]) -> None:
        """Give the next numbers to these names."""
        for name in names:
            self.numbers[name] = self.count
            self.count += 1

    def value(self, value: Value) -> Json:
        match value:
            case model.Ref(name):
                return self.numbers[name]
            case model.PartValue(part):
                return ["part", part]
            case model.Scalar():
                return ["number", self.module.numbers[value]]
            case model.ApplyPart(part, index, arguments):
                at = None if index is None else repr(index)
                return ["apply", part, at, *map(self.value, arguments)]
            case model.ApplyFunction():
                return self._call(value)
            case model.Arithmetic(op, left, right):
                operands = [left] if right is None else [left, right]
                shapes = [kind.shape for item in operands for kind in types_of(item)]
                written = [self.value(item) for item in operands]
                return [op, self._aligned([*shapes, value.type.shape]), *written]
            case model.Rearrange(inner, source, target):
                return ["as", self._aligned([source, target]), self.value(inner)]
            case model.Move(_, inner):
                return self.value(inner)
            case model.Cast(inner, kind):
                return ["cast", kind.dtype, self.value(inner)]

    def _call(self, call: model.ApplyFunction) -> Json:
        settings = self.canonical(self.module.calls.get(call, {}))
        shapes = [kind.shape for item in call.arguments for kind in types_of(item)]
        shapes += [kind.shape for kind in call.types]
        written = [self.value(item) for item in call.arguments]
        return [call.function, settings, self._aligned(shapes), *written]

    def _aligned(self, shapes: Sequence[Shape]) -> Json:
        """Shapes with dims as numbers in the order of first use, and the sizes of these."""
        order: dict[str, int] = {}
        written = [[self._entry(entry, order) for entry in shape] for shape in shapes]
        return [written, [self.sizes[name] for name in order]]

    def _entry(self, entry: Entry, order: dict[str, int]) -> Json:
        return [
            [
                order.setdefault(factor, len(order))
                if isinstance(factor, str)
                else {"number": factor}
                if isinstance(factor, int)
                else self._entry(factor, order)
                for factor in segment
            ]
            for segment in entry
        ]


def types_of(value: Value) -> tuple[ValueType, ...]:
    """Types of a value's results; none for a plain number."""
    match value:
        case model.ApplyPart() | model.ApplyFunction():
            return value.types
        case model.Scalar():
            return ()
        case _:
            return (value.type,)
