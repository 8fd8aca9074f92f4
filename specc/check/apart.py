"""Whether what acts on a part's forward acts on one that runs: chains called apart, biases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.selectors import spelled
from specc.plan.chains import called_apart
from specc.plan.tensor import WHOLE, lie
from specc.program import model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.diagnostics import Report
    from specc.plan.facts import Facts, Module, Unit
    from specc.source import Span


def check_apart(facts: Facts, report: Report) -> None:
    """Report rules on the forward of a chain that is called element by element."""
    seen: set[Span] = set()
    for module, why in called_apart(facts):
        for what, span in _acting(facts, module):
            if span is None or span in seen:
                continue
            seen.add(span)
            report.error(
                "E0494",
                span,
                f"`{spelled(module.path)}` {what} as one is not built yet: {why}, so they are "
                "called one by one",
                f"{what} as one",
                also=[(module.what.span, "this chain")] if module.what is not None else [],
                helps=["put the chain into a block of its own"],
            )


def _acting(facts: Facts, module: Module) -> Iterator[tuple[str, Span | None]]:
    """What rules ask of a module's own forward, and where."""
    if module.recompute is not None:
        yield "recomputed", module.recompute.span
    if module.compile is not None:
        yield "compiled", module.compile.span
    for unit in facts.layout.storage.units:
        if module.path in unit.modules:
            yield "gathered", unit.span


def check_biases(facts: Facts, report: Report) -> None:
    """Report a bias that is added outside of the part that gathers it, after a sum over ranks."""
    split = facts.layout.tensor
    units = {name: unit for unit in facts.layout.storage.units for name in unit.parameters}
    for block, module in _in_blocks(facts.model, facts.model) if split is not None else ():
        leaf = module.what
        if split is None or not isinstance(leaf, model.Leaf) or leaf.kind != "Linear":
            continue
        bias = f"{module.path}.bias"
        if lie(leaf.dims["I"], split) == WHOLE or bias not in units:
            continue
        unit = units[bias]
        if not any(_is_inside(block.path, path) for path in unit.modules):
            report.error(
                "E0494",
                unit.span or split.rule,
                f"`{spelled(module.path)}` as a unit is not built yet: its bias is added outside "
                "of it, after the sum over ranks",
                "gathered on its own" if unit.span else "summed here",
                notes=[_reason(unit)],
                helps=["make the block around it the unit"],
            )
            return


def _reason(unit: Unit) -> str:
    return f"the unit is {', '.join(map(spelled, unit.modules))}, in {unit.precision.params}"


def _in_blocks(module: Module, block: Module) -> Iterator[tuple[Module, Module]]:
    """Every module with the block whose forward calls it."""
    block = module if module.block is not None else block
    for child in module.children:
        yield block, child
        yield from _in_blocks(child, block)


def _is_inside(path: str, outer: str) -> bool:
    return not outer or path == outer or path.startswith(f"{outer}.")
