"""Selective recomputation: a forward cut at the calls whose results are kept.

What lies between kept calls becomes methods that backward runs again; the kept calls stand in
`forward`
itself. No operator names of any device are needed, and a compiled block keeps one graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.printing.fit import fit, fit_body
from specc.program import model
from specc.program.segments import cut
from specc.program.walk import reads

if TYPE_CHECKING:
    from specc.printing.forward import Forward
    from specc.program.segments import Segment


def segmented_lines(forward: Forward, keep: tuple[str, ...]) -> list[str]:
    """The methods and the forward of a block that keeps the results of some calls."""
    segments = cut(forward.statements, keep)
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
