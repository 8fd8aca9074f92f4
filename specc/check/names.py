"""Names that stand for numbers or setting values, evaluated when they are first asked for."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import attrs

from specc.vocabulary.record import SettingValue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from specc.diagnostics import Report
    from specc.source import Span
    from specc.syntax import tree


class Unknown(Enum):
    """The one value of an expression that has been reported: whatever it touches stays silent."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN
Evaluated: TypeAlias = "SettingValue | Unknown"


@attrs.frozen
class Definition:
    """An expression under a name.

    Args:
        is_size: a dim, whose value is a whole number of at least 0.
    """

    expr: tree.Expr
    is_size: bool


class Names:
    """Dims, lets and mesh axes of a spec by name; each is evaluated once, cycles are reported.

    Args:
        definitions: dims and lets.
        axes: sizes of the mesh axes; None while they are being evaluated themselves.
        compute: evaluates one definition with these names.
    """

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        axes: Mapping[str, int | Unknown] | None,
        axis_names: frozenset[str],
        report: Report,
        compute: Callable[[Definition, Names], Evaluated],
    ) -> None:
        self.definitions = definitions
        self.axes = axes
        self.axis_names = axis_names
        self.report = report
        self._compute = compute
        self._known: dict[str, Evaluated] = {}
        self._open: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self.definitions or name in self.axis_names

    @property
    def all(self) -> tuple[str, ...]:
        """Every name, for near matches."""
        return (*self.definitions, *sorted(self.axis_names))

    def value(self, name: str, span: Span) -> Evaluated:
        """What a name stands for; `span` is where it is used."""
        if name not in self.definitions:
            return self._axis(name, span)
        if name in self._known:
            return self._known[name]
        if name in self._open:
            self._report_circle(name, span)
            return UNKNOWN
        self._open.append(name)
        self._known[name] = self._compute(self.definitions[name], self)
        self._open.pop()
        return self._known[name]

    def _axis(self, name: str, span: Span) -> Evaluated:
        if self.axes is not None:
            return self.axes.get(name, UNKNOWN)
        self.report.error(
            "E0231",
            span,
            "the size of a mesh axis depends on the mesh itself",
            f"`{name}` is an axis of the same mesh",
            helps=["give the axis a number, `world` or `rest`"],
        )
        return UNKNOWN

    def _report_circle(self, name: str, span: Span) -> None:
        loop = [*self._open[self._open.index(name) :], name]
        self.report.error(
            "E0231",
            span,
            f"`{name}` is defined by itself",
            " -> ".join(loop),
            helps=["give one of them a number"],
        )
