"""What all else stands on: levels, target, cluster, mesh, and the values of dims and lets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.cluster import evaluate_cluster
from specc.check.expressions import Scope, compute
from specc.check.mesh import axis_sizes, evaluate_mesh
from specc.check.modules import check_holds
from specc.check.names import Names, Unknown
from specc.check.overrides import Settled, settle
from specc.check.target import find_target
from specc.check.texts import constant, names_in, size_text
from specc.plan.facts import Cluster, Mesh, Size
from specc.targets import TARGETS, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.check.names import Evaluated
    from specc.diagnostics import Report
    from specc.program.program import Program
    from specc.situation import Situation
    from specc.source import Span
    from specc.vocabulary.record import SettingValue


@attrs.frozen
class Ground:
    """A program's levels settled, and its names evaluated.

    Args:
        sizes: size of every dim, in the order of declaration.
    """

    settled: Settled
    target: Target
    cluster: Cluster | None
    mesh: Mesh
    scope: Scope
    sizes: Mapping[str, int]
    lets: Mapping[str, SettingValue]

    @property
    def dims(self) -> dict[str, Size]:
        """Every dim with its size, and its text over the constants of a script."""
        return {name: Size(value, self._text(name, value)) for name, value in self.sizes.items()}

    def _text(self, name: str, value: int) -> str:
        expr = self.settled.names[name].expr
        used = names_in(expr)
        if not used & {*self.sizes, *self.mesh.products}:
            return str(value)
        return size_text(expr, self._look_up)

    def _look_up(self, name: str) -> str | Evaluated:
        if name in self.sizes:
            return constant(name)
        if name in self.mesh.products:
            return " * ".join(constant(leaf) for leaf in self.mesh.products[name])
        value = self.lets.get(name)
        # a script has no constants for lets: their numbers stand in the text
        return value if isinstance(value, int | float) else name


def ground(program: Program, situation: Situation, report: Report) -> Ground | None:
    """The ground of an evaluation; None when something in it is wrong, which has been reported."""
    settled = settle(program, situation, report)
    target = find_target(program, situation, report)
    bare = Scope(Names(settled.names, {}, frozenset(), report, compute), report)
    cluster = evaluate_cluster(program, settled, bare, tuple(TARGETS))
    mesh = evaluate_mesh(program, settled, situation, cluster, report)
    if mesh is None or target is None:
        return None
    sizes = axis_sizes(mesh)
    names = Names(settled.names, sizes, frozenset(sizes), report, compute)
    scope = Scope(names, report)
    values = {name: names.value(name, _span(program, name)) for name in settled.names}
    for check in program.checks:
        check_holds(check, scope)
    if report.failed:
        return None
    known = {name: value for name, value in values.items() if not isinstance(value, Unknown)}
    dims = {name: known[name] for name in program.dims}
    return Ground(
        settled,
        target,
        cluster,
        mesh,
        scope,
        {name: value for name, value in dims.items() if isinstance(value, int)},
        {name: known[name] for name in program.lets},
    )


def _span(program: Program, name: str) -> Span:
    return program.dims[name].span if name in program.dims else program.lets[name].span
