"""Walking value expressions: operands, all that is inside, types, replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.program import model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.program.model import BlockClass, Statement, Value, ValueType


def operands(value: Value) -> tuple[Value, ...]:
    """The values that a value is directly made of, in order."""
    match value:
        case model.ApplyPart() | model.ApplyFunction():
            return value.arguments
        case model.Arithmetic():
            return (value.left,) if value.right is None else (value.left, value.right)
        case model.Rearrange() | model.Cast() | model.Move():
            return (value.value,)
        case _:
            return ()


def inside(value: Value) -> Iterator[Value]:
    """Everything a value is made of, operands first, the value itself last."""
    for operand in operands(value):
        yield from inside(operand)
    yield value


def roots(statement: Statement) -> tuple[Value, ...]:
    """The values that a statement computes."""
    return (statement.value,) if isinstance(statement, model.Assign) else statement.values


def values_of(statements: tuple[Statement, ...]) -> Iterator[Value]:
    """Everything that statements compute, in the order in which Python would."""
    for statement in statements:
        for value in roots(statement):
            yield from inside(value)


def reads(statements: tuple[Statement, ...]) -> list[str]:
    """Names of values in the order in which statements read them, repeats included."""
    return [value.name for value in values_of(statements) if isinstance(value, model.Ref)]


def type_of(value: Value) -> ValueType:
    """Type of a tensor value; of the first result of a call with several."""
    if isinstance(value, (model.ApplyPart, model.ApplyFunction)):
        return value.types[0]
    assert not isinstance(value, model.Scalar), "a plain number has no type"
    return value.type


def replaced(value: Value, old: Value, new: Value) -> Value:
    """The value with `old` inside it, wherever it stands, replaced by `new`."""
    if value is old:
        return new
    match value:
        case model.ApplyPart() | model.ApplyFunction():
            inner = tuple(replaced(argument, old, new) for argument in value.arguments)
            return attrs.evolve(value, arguments=inner)
        case model.Arithmetic():
            right = None if value.right is None else replaced(value.right, old, new)
            return attrs.evolve(value, left=replaced(value.left, old, new), right=right)
        case model.Rearrange() | model.Cast() | model.Move():
            return attrs.evolve(value, value=replaced(value.value, old, new))
        case _:
            return value


def bound_names(made: BlockClass) -> frozenset[str]:
    """Names of the values that a body binds."""
    assigned = (s for s in made.statements if isinstance(s, model.Assign))
    return frozenset(name for statement in assigned for name in statement.names) - {"_"}
