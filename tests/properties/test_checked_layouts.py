"""Layouts of any rules are judged without a fault of ours, and what passes is printed."""

from __future__ import annotations

import ast
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specc.check.evaluate import evaluate
from specc.diagnostics import Report
from specc.diagnostics.render import render
from specc.emit.link import script
from specc.plan.hashes import hashes
from specc.printing.text import print_text
from specc.resolve import resolve
from specc.situation import Situation
from specc.source import Source
from specc.syntax.parse import parse
from tests.unit.check.specs import MODEL, TRAIN, spec

TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")
MESHES = (
    "dp = world",
    "dp = 2, cp = 2",
    "dp = rest, cp = 2",
    "dp = 4 { rep = 2, fsdp = 2 }",
    "cp = 4, dp = 2",
)
SELECTORS = (
    "", "Block", "each Block", "blocks", "blocks[0..2]", "blocks[1..]", "blocks[-1]",
    "each Attention", "each Block.mlp", "each Linear", "each RMSNorm", "each GELU",
    "head", "embed", "norm",
    "blocks[0].mlp[2]", "each Linear.bias", "each Block except blocks[0]",
)  # fmt: skip
AXES = (
    "dp: shard B", "cp: shard S via ulysses(heads)",
    "cp: shard S via ulysses(heads, repeat_kv = true)",
    "cp: shard S", "cp: replicate", "dp: replicate", "rep: replicate", "fsdp: shard B",
)  # fmt: skip
STORES = ("dp", "cp*dp", "fsdp", "dp*cp")

selectors = st.sampled_from(SELECTORS)
stores = st.builds(
    lambda axes, kind, unit, keep: (
        f"{axes}: shard {kind}{f' per {unit}' if unit else ''}"
        f"{' { reshard_after_forward = ' + keep + ' }' if keep else ''}"
    ),
    st.sampled_from(STORES),
    st.sampled_from(("params", "grads", "optim")),
    selectors,
    st.sampled_from(("", "", "", "true", "false")),
)
verbs = st.one_of(
    st.builds(
        lambda where, word, dtype: f"precision {where} {{ {word} = {dtype} }}",
        selectors,
        st.sampled_from(("params", "params", "reduce", "compute")),
        st.sampled_from(("bf16", "bf16", "fp32")),
    ),
    st.builds(
        lambda where, keep: f"recompute {where}{keep}",
        selectors,
        st.sampled_from(("", "", " { keep = [attn] }", " { keep = [h] }")),
    ),
    st.builds(lambda where: f"compile {where}", selectors),
)
layouts = st.builds(
    lambda axes, store, more: "\n".join([*axes, *store, *more]),
    st.lists(st.sampled_from(AXES), min_size=1, max_size=3, unique=True),
    st.lists(stores, max_size=1),
    st.lists(verbs, max_size=4),
)


@given(layouts, st.sampled_from(MESHES), st.sampled_from((MODEL, TIED)), st.sampled_from((1, 2)))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_layout_is_judged_and_what_passes_is_printed(
    layout: str, mesh: str, model: str, accumulate: int
) -> None:
    text = spec(layout, mesh, train=TRAIN + f"  accumulate = {accumulate}\n", model=model)
    report = Report()
    file, found = parse(Source("t.spec", text))
    assert not found
    program = resolve(file, Path("t.spec"), report)
    assert program is not None
    facts = evaluate(program, Situation("cpu"), report)
    assert render(report.diagnostics) or not report.diagnostics
    assert (facts is None) is report.failed
    if facts is not None:
        assert len(hashes(facts).run) == 64
        ast.parse(script(print_text(facts)))
        held = [name for unit in facts.layout.storage.units for name in unit.parameters]
        own = [p.name for p in facts.parameters if p.tied_to is None]
        assert facts.layout.storage.kind == "ddp" or sorted(held) == sorted(own)
