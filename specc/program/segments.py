"""A block's statements cut at the calls whose results selective recomputation keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.program import model
from specc.program.walk import inside, replaced, roots, type_of

if TYPE_CHECKING:
    from specc.program.model import Statement


@attrs.define
class Segment:
    """A run of statements between kept calls, or one kept call."""

    statements: list[Statement]
    kept: bool


def cut(statements: tuple[Statement, ...], keep: tuple[str, ...]) -> list[Segment]:
    """Statements as segments: a kept call, its arguments plain names, is one of its own."""
    segments = [Segment([], kept=False)]
    for statement in statements:
        hoisted, rest = _hoist(statement, keep)
        for arguments, call in hoisted:
            segments[-1].statements.extend(arguments)
            segments += [Segment([call], kept=True), Segment([], kept=False)]
        if rest is not None:
            segments[-1].statements.append(rest)
    return [segment for segment in segments if segment.statements]


def _hoist(
    statement: Statement, keep: tuple[str, ...]
) -> tuple[list[tuple[list[model.Assign], model.Assign]], Statement | None]:
    """The kept calls of a statement with their arguments as assignments, and what is left of it."""
    if isinstance(statement, model.Assign) and set(statement.names) & set(keep):
        arguments, call = _named_arguments(statement.value)
        return [(arguments, attrs.evolve(statement, value=call))], None
    values = roots(statement)
    found = [c for value in values for c in _kept_parts(value, keep)]
    hoisted: list[tuple[list[model.Assign], model.Assign]] = []
    for call in found:
        name = f"{call.part}_kept"
        arguments, bare = _named_arguments(call)
        hoisted.append((arguments, model.Assign((name,), bare, call.span)))
        ref = model.Ref(name, call.types[0], call.span)
        values = tuple(replaced(value, call, ref) for value in values)
    if isinstance(statement, model.Assign):
        return hoisted, attrs.evolve(statement, value=values[0])
    return hoisted, attrs.evolve(statement, values=values)


def _kept_parts(value: model.Value, keep: tuple[str, ...]) -> list[model.ApplyPart]:
    return [v for v in inside(value) if isinstance(v, model.ApplyPart) and v.part in keep]


def _named_arguments(call: model.Value) -> tuple[list[model.Assign], model.Value]:
    """Assignments of the arguments that are not names yet, and the call over names."""
    if not isinstance(call, (model.ApplyPart, model.ApplyFunction)):
        return [], call
    assigned: list[model.Assign] = []
    names: list[model.Value] = []
    for number, argument in enumerate(call.arguments):
        if isinstance(argument, (model.Ref, model.Scalar, model.PartValue)):
            names.append(argument)
            continue
        name = f"into_{call.part if isinstance(call, model.ApplyPart) else call.function}"
        name += f"_{number + 1}" if len(call.arguments) > 1 else ""
        assigned.append(model.Assign((name,), argument, argument.span))
        names.append(model.Ref(name, type_of(argument), argument.span))
    return assigned, attrs.evolve(call, arguments=tuple(names))
