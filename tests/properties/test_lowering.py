"""A spec built forward from types is found right, and becomes a script that Python reads."""

import ast
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from specc.check.evaluate import evaluate
from specc.diagnostics import Report
from specc.emit.link import run_text, script
from specc.printing.text import print_text
from specc.resolve import resolve
from specc.situation import Situation
from specc.source import Source
from specc.syntax.parse import parse

NORMS = (
    "RMSNorm(d)",
    "LayerNorm(d)",
    "LayerNorm(d, bias = false)",
    "RMSNorm(d, eps = 1e-5, offset = 1)",
)
ACTIVATIONS = ("silu", "relu", "gelu", "tanh")
LAYOUTS = (
    "dp: shard B\n  cp: replicate",
    "dp: shard B\n  dp: shard params per Block\n  cp: replicate",
    "dp: shard B\n  cp: shard S via ulysses(heads)",
    "dp: shard B\n  cp: shard S via ulysses(heads)\n  dp*cp: shard params per Block",
    "dp: shard B\n  cp: shard S via ulysses(heads)\n  dp: shard params",
    "dp: shard B\n  dp: shard optim per Block\n  cp: replicate",
)
PRECISIONS = ("", "precision { params = bf16, reduce = fp32 }")
RULES = (
    "",
    "recompute each Block",
    "recompute blocks[0]",
    "compile each Block",
    "recompute each Block { keep = [a] }",
)


@st.composite
def attention(draw: st.DrawFn) -> str:
    """Lines of a block's attention, from x to a."""
    kv = draw(st.sampled_from(("heads", "kv")))
    rotate = draw(st.sampled_from(("", " -> rope(theta = 1e4)", " -> rope(1e4, fraction = 0.5)")))
    extra = draw(st.sampled_from(("", ", window = 4", ", cap = 30.0", ", scale = 0.5")))
    bias = draw(st.sampled_from(("", ", bias = false")))
    return f"""
  n1: {draw(st.sampled_from(NORMS))}
  wq: Linear(d -> heads*hd{bias})
  wk: Linear(d -> {kv}*hd{bias})
  wv: Linear(d -> {kv}*hd{bias})
  wo: Linear(heads*hd -> d)
  h = n1(x)
  q = wq(h) as [B, S, heads, hd]{rotate}
  k = wk(h) as [B, S, {kv}, hd]{rotate}
  v = wv(h) as [B, S, {kv}, hd]
  a = attention(q, k, v, causal = true{extra})
  x = x + wo(a as [B, S, heads*hd])"""


@st.composite
def feed_forward(draw: st.DrawFn) -> str:
    """Lines of a block's feed-forward, from x to its last value."""
    act = draw(st.sampled_from(ACTIVATIONS))
    inner = draw(
        st.sampled_from(
            (
                f"down({act}(gate(y))*up(y))",
                f"({act}(gate(y))*up(y) -> down)",
                f"down({act}(gate(y)) + 0.5*up(y) - y2)",
            )
        )
    )
    second = "y2: Param([ff], init = normal(0.02))" if "y2" in inner else ""
    return f"""
  n2: {draw(st.sampled_from(NORMS))}
  gate: Linear(d -> ff)
  up: Linear(d -> ff)
  down: Linear(ff -> d)
  {second}
  y = n2(x)
  return x + {inner}"""


@st.composite
def specs(draw: st.DrawFn) -> str:
    """A whole spec: one block, a model, a layout and a training."""
    depth = draw(st.integers(1, 3))
    loss = draw(
        st.sampled_from(
            ("cross_entropy(logits, labels)", "cross_entropy(logits, labels, chunk = 8)")
        )
    )
    return f"""specc 1
dim B = 4*dp, S = 16, d = 32, heads = 4, kv = 2, hd = d/heads
dim ff = {draw(st.sampled_from(("48", "2*d")))}
dim vocab = 64
block Block(x: [B, S, d]) -> [B, S, d] {{{draw(attention())}{draw(feed_forward())}
}}
model M(ids: i64[B, S]) -> logits: [B, S, vocab] {{
  embed: Embedding(vocab -> d)
  blocks: repeat {depth} Block
  head: Linear(d -> vocab{draw(st.sampled_from(("", ", bias = false")))})
  return ids -> embed -> blocks -> head
}}
mesh {{ dp = 2, cp = 2 }}
layout {{
  {draw(st.sampled_from(LAYOUTS))}
  {draw(st.sampled_from(PRECISIONS))}
  {draw(st.sampled_from(RULES))}
}}
train {{
  data {{ ids, labels = text("builtin") }}
  loss = {loss}
  optimizer = {draw(st.sampled_from(("AdamW(lr = 1e-3)", "SGD(lr = 0.1, momentum = 0.9)")))}
  steps = 2
  accumulate = {draw(st.sampled_from((1, 2)))}
}}
"""


@given(specs(), st.sampled_from(("cpu", "cuda", "musa")))
@settings(max_examples=60, deadline=None)
def test_a_spec_built_from_types_lowers(text: str, target: str) -> None:
    source = Source("made.spec", text.replace("vocab = 64", "vocab = 256"))
    file, found = parse(source)
    report = Report()
    report.extend(found)
    program = resolve(file, Path("made.spec"), report)
    facts = program and evaluate(program, Situation(target), report)
    assert [d for d in report.diagnostics if d.severity == "error"] == []
    assert facts is not None
    printed = print_text(facts)
    for code in (script(printed), run_text(printed)):
        ast.parse(code)
        assert max(len(line) for line in code.splitlines()) <= 100
