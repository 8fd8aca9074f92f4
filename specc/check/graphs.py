"""Whether what a layout compiles into one graph can be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.attention import in_place_of

if TYPE_CHECKING:
    from specc.diagnostics import Report
    from specc.plan.facts import Facts, Method, Module
    from specc.source import Span


def check_graphs(facts: Facts, report: Report) -> None:
    """Report `fullgraph` around a method whose exchange between ranks no graph holds."""
    seen: set[Span] = set()
    for module in facts.model.walk():
        rule = module.compile
        if rule is None or not rule.fullgraph or rule.span in seen:
            continue
        method = _breaks(facts, module)
        if method is not None:
            seen.add(rule.span)
            report.error(
                "E0494",
                rule.span,
                f"one graph around `{method.name}` is not built yet",
                "asks for one graph",
                also=[(method.rule, "exchanges between ranks, outside of graphs")],
                helps=["write `fullgraph = false`, which leaves the exchange out"],
            )


def _breaks(facts: Facts, module: Module) -> Method | None:
    """A method that computes attention itself somewhere inside a module."""
    calls = ((inner, call) for inner in module.walk() for call in inner.calls)
    found = (in_place_of(facts, inner, call) for inner, call in calls)
    return next((method for method in found if method is not None), None)
