"""Fields of `train.data` after overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.diagnostics import nearest
from specc.program.program import Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specc.check.assignments import Assignment
    from specc.diagnostics import Report
    from specc.program.program import Program


def override_fields(
    program: Program, fields: tuple[Field, ...], assignments: Sequence[Assignment], report: Report
) -> tuple[Field, ...]:
    """The fields with the sources that one level gives them; each keeps its type.

    A tuple that the file fills from one source is replaced whole or not at all.
    """
    by_name = {field.name: field for field in fields}
    changed: dict[str, Assignment] = {}
    for assignment in assignments:
        names = tuple(path[-1] for path in assignment.paths)
        for position, (path, name) in enumerate(zip(assignment.paths, names, strict=True)):
            if _is_field(by_name, path, assignment, report):
                by_name[name] = attrs.evolve(
                    by_name[name],
                    source=assignment.value,
                    group=names,
                    position=position,
                    span=assignment.span,
                )
                changed[name] = assignment
    if program.train is not None:
        _check_groups(fields, changed, report)
    return tuple(by_name.values())


def _is_field(
    by_name: dict[str, Field], path: tuple[str, ...], assignment: Assignment, report: Report
) -> bool:
    shown = ".".join(path)
    if len(path) == 3 and path[2] in by_name and assignment.type is None:
        return True
    if len(path) == 3 and path[2] in by_name:
        title = f"`{shown}` keeps the type that the file gives it"
        report.error("E0606", assignment.span, title, "leave out the type")
        return False
    near = nearest(path[-1], by_name)
    report.error(
        "E0606",
        assignment.span,
        f"the spec has no `{shown}` that can be set",
        "no such field",
        notes=[f"fields of `train.data`: {', '.join(by_name)}"],
        helps=[f"did you mean `train.data.{near}`?"] if near else [],
    )
    return False


def _check_groups(
    fields: tuple[Field, ...], changed: dict[str, Assignment], report: Report
) -> None:
    for field in fields:
        if field.position != 0 or len(field.group) == 1:
            continue
        rest = [name for name in field.group if name not in changed]
        some = [name for name in field.group if name in changed]
        if some and rest:
            listed = ", ".join(f"`{name}`" for name in rest)
            report.error(
                "E0606",
                changed[some[0]].span,
                f"`{field.source.span.text}` fills {', '.join(field.group)} together",
                f"only `{some[0]}` gets another source" if len(some) == 1 else "some of them",
                also=[(field.span, "filled together here")],
                helps=[f"set {listed} too"],
            )
