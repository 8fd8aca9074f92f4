"""Whether a ring in zigzag order has something to balance, and halves to balance it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.attention import methods_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.diagnostics import Report
    from specc.plan.facts import Facts, Method
    from specc.program.model import ApplyFunction
    from specc.source import Span


def check_rings(facts: Facts, report: Report) -> None:
    """Report rings in zigzag order around attention that gives all ranks equal work without it."""
    for method in facts.layout.methods:
        if method.settings.get("zigzag"):
            _check_halves(facts, method, report)
            _check_work(facts, method, report)


def _check_halves(facts: Facts, method: Method, report: Report) -> None:
    size, degree = facts.sizes[method.dim], facts.mesh.degree(method.axes)
    if size % (2 * degree) == 0:
        return
    shown = "*".join(method.axes)
    report.error(
        "E0406",
        method.rule,
        f"`{method.dim}` = {size} does not divide into two halves for each of {shown} = {degree}",
        f"{size} / {2 * degree} = {size / (2 * degree):.6g}",
        also=[(facts.program.dims[method.dim].span, f"{method.dim} is declared here")],
        helps=[f"use a `{method.dim}` that {2 * degree} divides, or leave `zigzag` out"],
    )


def _check_work(facts: Facts, method: Method, report: Report) -> None:
    """One report for each place that needs no zigzag, whatever it is made into."""
    shown, degree = "*".join(method.axes), facts.mesh.degree(method.axes)
    piece = facts.sizes[method.dim] // degree
    seen: set[Span] = set()
    for call, causal, window in _attentions(facts, method):
        if call.span in seen or (causal and (window is None or degree == 1 or window > piece)):
            continue
        seen.add(call.span)
        limit = f"a window of {window}" if causal else "attention that is not causal"
        what = f"sees {window} tokens" if causal else "every query sees all keys"
        report.error(
            "E0419",
            method.rule,
            f"`zigzag` has nothing to balance in {limit}",
            f"moves halves of `{method.dim}` between the ranks of {shown}",
            also=[(call.span, what)],
            notes=[f"each of {shown} = {degree} holds {piece} tokens"] if causal else [],
            helps=["leave `zigzag` out, or keep this attention out of the rule with `within`"],
        )


def _attentions(facts: Facts, method: Method) -> Iterator[tuple[ApplyFunction, bool, int | None]]:
    """Calls that a method acts on, whether each is causal, and its window."""
    for module in facts.model.walk():
        for call, settings in module.calls.items():
            if method in methods_of(facts, module, call):
                given = settings.get("window")
                window = given if isinstance(given, int) else None
                yield call, bool(settings.get("causal")) or window is not None, window
