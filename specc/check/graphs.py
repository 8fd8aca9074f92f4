"""Whether what a layout compiles into one graph can be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program.dims import dim
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from specc.diagnostics import Report
    from specc.plan.facts import Facts, Method, Module
    from specc.program.model import ApplyFunction
    from specc.source import Span


def check_graphs(facts: Facts, report: Report) -> None:
    """Report `fullgraph` around a method whose exchange between ranks no graph holds."""
    seen: set[Span] = set()
    for module in facts.model.walk():
        rule = module.compile
        if rule is None or not rule.fullgraph or rule.span in seen:
            continue
        method = next((m for m in facts.layout.methods if _breaks(m, module)), None)
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


def _breaks(method: Method, module: Module) -> bool:
    return any(
        takes_the_place(method, inner, call) for inner in module.walk() for call in inner.calls
    )


def takes_the_place(method: Method, module: Module, call: ApplyFunction) -> bool:
    """Whether a method computes an attention itself, instead of moving values around it."""
    return (
        call.function == "attention"
        and call.dims.get("S") == dim(method.dim)
        and method.acts_in(module.path)
        and find("methods", method.name).construct is not None
    )
