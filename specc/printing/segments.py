"""Selective recomputation: a forward cut at the calls whose results are kept.

What lies between kept calls becomes methods that backward runs again; the kept calls stand in
`forward`
itself. No operator names of any device are needed, and a compiled block keeps one graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.printing.fit import fit, fit_body
from specc.program import model
from specc.program.walk import inside, reads, replaced, roots, type_of

if TYPE_CHECKING:
    from specc.printing.forward import Forward


@attrs.define
class Segment:
    """A run of statements between kept calls, or one kept call."""

    statements: list[model.Statement]
    kept: bool


def segmented_lines(forward: Forward, keep: tuple[str, ...]) -> list[str]:
    """The methods and the forward of a block that keeps the results of some calls."""
    segments = _cut(forward.block.statements, keep)
    place = forward.context.place(forward.module.recompute.span) if forward.module.recompute else ""
    known = [name for name, _ in forward.block.inputs]
    methods: list[str] = []
    body: list[str] = []
    number = 0
    for position, segment in enumerate(segments):
        later = [s for other in segments[position + 1 :] for s in other.statements]
        if segment.kept:
            body.extend(_printed(forward, segment.statements))
        else:
            number += 1
            head, lines, call = _method(forward, segment, number, known, later, place)
            methods += ["", *fit(head, 4), *lines]
            body.append(call)
        known += _defined(segment.statements)
    head = f"def forward({', '.join(['self', *forward.inputs])}):"
    return [*fit(head, 4), *fit_body(body, 8), *methods]


def _method(
    forward: Forward,
    segment: Segment,
    number: int,
    known: list[str],
    later: list[model.Statement],
    place: str,
) -> tuple[str, list[str], str]:
    """Signature and body of a recomputed method, and the line that calls it."""
    read = reads(tuple(segment.statements))
    inputs = [name for name in dict.fromkeys(known) if name in read]
    outputs = [n for n in dict.fromkeys(_defined(segment.statements)) if n in reads(tuple(later))]
    arguments = [forward.locals.of(name) for name in inputs]
    forward.holder = arguments[0] if arguments else forward.inputs[0]
    lines = _printed(forward, segment.statements)
    forward.holder = forward.inputs[0]
    words = ", ".join([f"self.segment_{number}", *arguments, "use_reentrant=False"])
    head = f"def segment_{number}({', '.join(['self', *arguments])}):"
    call = f"checkpoint({words})  # {place}"
    if isinstance(segment.statements[-1], model.Return):
        return head, fit_body(lines, 8), f"return {call}"
    results = ", ".join(forward.locals.of(name) for name in outputs)
    if lines[-1].startswith(f"{results} = ") and len(outputs) == 1:
        lines[-1] = f"return {lines[-1].removeprefix(f'{results} = ')}"
    else:
        lines.append(f"return {results}")
    return head, fit_body(lines, 8), f"{results} = {call}"


def _printed(forward: Forward, statements: list[model.Statement]) -> list[str]:
    before, forward.lines = forward.lines, []
    forward.print_statements(tuple(statements))
    lines, forward.lines = forward.lines, before
    return lines


def _defined(statements: list[model.Statement]) -> list[str]:
    return [n for s in statements if isinstance(s, model.Assign) for n in s.names if n != "_"]


# ------------------------------------------------------------------------------------- cutting


def _cut(statements: tuple[model.Statement, ...], keep: tuple[str, ...]) -> list[Segment]:
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
    statement: model.Statement, keep: tuple[str, ...]
) -> tuple[list[tuple[list[model.Assign], model.Assign]], model.Statement | None]:
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
