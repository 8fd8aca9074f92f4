"""Dims and lets that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

import attrs

from specc.source import Source, Span
from specc.syntax import tree

if TYPE_CHECKING:
    from specc.diagnostics import Report
    from specc.program.program import Program


def warn_of_unused(program: Program, report: Report) -> None:
    """Warn of dims and lets of a run that no shape, setting or rule needs."""
    if not program.is_run:
        return
    definitions: dict[str, tree.Expr] = {name: dim.size for name, dim in program.dims.items()}
    definitions |= {name: constant.value for name, constant in program.lets.items()}
    users = [
        program.classes,
        program.checks,
        program.mesh,
        program.cluster,
        program.layouts,
        program.train,
        program.launch,
        program.externs,
        program.targets,
        program.profiles,
    ]
    used = {name for user in users for name in _mentions(user)}
    waiting = [name for name in definitions if name in used]
    while waiting:
        for name in _mentions(definitions[waiting.pop()]):
            if name in definitions and name not in used:
                used.add(name)
                waiting.append(name)
    for what, declared in (("dim", program.dims), ("let", program.lets)):
        for name, declaration in declared.items():
            if name not in used:
                title = f"{what} `{name}` is never used"
                label = "no shape, setting or rule mentions it"
                report.warning("E0237", declaration.span, title, label, helps=["remove it"])


def _mentions(value: object) -> Iterator[str]:
    """Names of expressions and dims of shapes in a value and in everything that it holds."""
    match value:
        case Span() | Source():
            return
        case tree.Name(name):
            yield name
        case str():
            yield value
        case tuple() | list():
            for item in cast("tuple[object, ...]", value):
                yield from _mentions(item)
        case Mapping():
            for item in cast("Mapping[object, object]", value).values():
                yield from _mentions(item)
        case _ if attrs.has(type(value)):
            for field in attrs.fields(type(value)):
                yield from _mentions(getattr(value, field.name))
        case _:
            return
