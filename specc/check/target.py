"""Whether the target of a situation can do what the facts ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.externs import check_uses
from specc.diagnostics import nearest
from specc.plan.attention import in_place_of
from specc.plan.externs import extern_uses
from specc.program import model
from specc.program.dims import size
from specc.program.walk import values_of
from specc.targets import TARGETS, UNKNOWN, Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.check.verbs import Precisions
    from specc.diagnostics import Report
    from specc.plan.facts import Facts, Module
    from specc.program.program import Program
    from specc.situation import Situation
    from specc.source import Span


def find_target(program: Program, situation: Situation, report: Report) -> Target | None:
    """The record of the situation's target; every `on TARGET` of the file must name one, too."""
    for block in program.targets.values():
        if block.name not in TARGETS:
            _report_unknown(block.name, block.name_span, report)
    if situation.target not in TARGETS:
        _report_unknown(situation.target, None, report)
        return None
    return TARGETS[situation.target]


def _report_unknown(name: str, span: Span | None, report: Report) -> None:
    near = nearest(name, TARGETS)
    report.error(
        "E0608",
        span,
        f"unknown target `{name}`",
        "not a target",
        notes=[f"targets: {', '.join(TARGETS)}"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def check_target(facts: Facts, dtypes: Precisions, report: Report) -> None:
    """Report what the target lacks; on unknown machines, also what only some of them have."""
    asked: set[tuple[str, Span]] = set()
    for name, sizes, span in _asked(facts, dtypes):
        if (name, span) in asked:
            continue
        asked.add((name, span))
        lack = facts.target.lack(name, UNKNOWN, sizes)
        if lack is not None:
            report.add(lack.diagnostic(span))
    check_uses(facts, extern_uses(facts), report)


def _asked(facts: Facts, dtypes: Precisions) -> Iterator[tuple[str, tuple[int, ...], Span]]:
    """Every capability that is needed, with sizes where there is a limit, and who asks."""
    mesh = facts.program.mesh
    if mesh is not None and facts.mesh.world > 1:
        yield "distributed", (), mesh.span
    yield from _asked_by_layout(facts, dtypes)
    for module in facts.model.walk():
        if module.compile is not None and module.compile.mode == "reduce-overhead":
            yield from _asked_by_graph(facts, module)
        if module.compile is not None:
            yield "compile", (), module.compile.span
        if module.block is not None:
            yield from _asked_by_attention(facts, module)
    endpoint = facts.program.launch.get("endpoint")
    if endpoint is not None and facts.training.endpoint and "[" in facts.training.endpoint:
        yield "ipv6", (), endpoint.span


def _asked_by_layout(
    facts: Facts, dtypes: Precisions
) -> Iterator[tuple[str, tuple[int, ...], Span]]:
    store = facts.layout.storage
    if dtypes.bf16 is not None:
        yield "bf16", (), dtypes.bf16
    if store.rule is not None:
        yield "fsdp2", (), store.rule
        copies = facts.mesh.degree(store.replicate) > 1
        if copies and facts.mesh.degree(store.shard) > 1:
            yield "hsdp", (), store.rule
    elif store.kind == "replicate" and dtypes.bf16 is not None:
        yield "hsdp", (), dtypes.bf16  # over a mesh (n, 1)
    for method in facts.layout.methods:
        yield method.name, (), method.rule


def _asked_by_graph(facts: Facts, module: Module) -> Iterator[tuple[str, tuple[int, ...], Span]]:
    assert module.compile is not None
    span = module.compile.span
    yield "reduce_overhead", (), span
    if facts.layout.methods or facts.layout.tensor is not None:
        yield "graph_collectives", (), span
    unit = next((u for u in facts.layout.storage.units if module.path in u.modules), None)
    if unit is not None and unit.reshard:
        yield "graph_resharding", (), facts.layout.storage.rule or span


def _asked_by_attention(
    facts: Facts, module: Module
) -> Iterator[tuple[str, tuple[int, ...], Span]]:
    """What fused kernels must be able to do, where attention is one call of torch."""
    assert module.block is not None
    for value in values_of(module.block.statements):
        if isinstance(value, model.ApplyFunction) and value.function == "attention":
            if in_place_of(facts, module, value) is not None:
                continue
            sizes = facts.sizes
            heads = (size(value.dims["E"], sizes), size(value.dims["F"], sizes))
            yield "fused_attention", (), value.span
            yield "fused_attention_heads", heads, value.span
            if (module.precision.compute or module.precision.params) == "fp32":
                yield "fused_attention_fp32", (), value.span
