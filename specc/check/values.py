"""The values of a block's body, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.program.model import BlockClass, Statement, Value


def values_of(statements: tuple[Statement, ...]) -> Iterator[Value]:
    """Every value of a body, operands before what uses them, in the order of evaluation."""
    for statement in statements:
        match statement:
            case model.Assign(_, value):
                yield from _operands_first(value)
            case model.Return(values):
                for value in values:
                    yield from _operands_first(value)


def _operands_first(value: Value) -> Iterator[Value]:
    for operand in operands(value):
        yield from _operands_first(operand)
    yield value


def operands(value: Value) -> tuple[Value, ...]:
    """The values that a value is made from."""
    match value:
        case model.ApplyPart(_, _, arguments) | model.ApplyFunction(_, arguments):
            return arguments
        case model.Arithmetic(_, left, right):
            return (left,) if right is None else (left, right)
        case model.Rearrange(inner) | model.Cast(inner):
            return (inner,)
        case _:
            return ()


def bound_names(made: BlockClass) -> frozenset[str]:
    """Names of the values that a body binds."""
    names = {
        name
        for statement in made.statements
        if isinstance(statement, model.Assign)
        for name in statement.names
    }
    return frozenset(names - {"_"})
