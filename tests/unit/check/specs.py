"""A small transformer as a spec, and its evaluation from text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specc.check.evaluate import evaluate
from specc.check.situations import examine
from specc.diagnostics import Diagnostic, Report
from specc.plan.facts import Facts
from specc.program.program import Program
from specc.resolve import resolve
from specc.situation import Override, Situation
from specc.source import Source
from specc.syntax import tree
from specc.syntax.parse import parse

DIMS = """\
dim d = 16, ff = 4*d, vocab = 32, depth = 4
dim heads = 4, kv = 2, hd = d/heads
dim S = 8
dim B = 2*dp
"""
MODEL = """\
block Attention(x: [B, S, d]) -> [B, S, d] {
  wq: Linear(d -> heads*hd, bias = false)
  wk: Linear(d -> kv*hd, bias = false)
  wv: Linear(d -> kv*hd, bias = false)
  wo: Linear(heads*hd -> d, bias = false)
  q = wq(x) as [B, S, heads, hd] -> rope(theta = 1e4)
  k = wk(x) as [B, S, kv, hd] -> rope(theta = 1e4)
  v = wv(x) as [B, S, kv, hd]
  return attention(q, k, v, causal = true) as [B, S, heads*hd] -> wo
}

block Block(x: [B, S, d]) -> [B, S, d] {
  norm: RMSNorm(d)
  attn: Attention
  mlp:  Linear(d -> ff) -> GELU -> Linear(ff -> d)
  h = x + attn(norm(x))
  return h + mlp(h)
}

model Small(ids: i64[B, S]) -> logits: [B, S, vocab] {
  embed:  Embedding(vocab -> d)
  blocks: repeat depth Block
  norm:   RMSNorm(d)
  head:   Linear(d -> vocab, bias = false)
  return ids -> embed -> blocks -> norm -> head
}
"""
TRAIN = """\
  data { ids = randint(vocab), labels: i64[B, S] = randint(vocab) }
  loss = cross_entropy(logits, labels)
  optimizer = AdamW(lr = 1e-3)
  steps = 5
"""
SQUARES = """\
  data { x = randn, t: [B, S, d] = randn }
  loss = mse(y, t)
  optimizer = AdamW(lr = 1e-3)
  steps = 5
"""


def spec(
    layout: str = "dp: shard B",
    mesh: str = "dp = 2",
    *,
    train: str = TRAIN,
    more: str = "",
    dims: str = DIMS,
    model: str = MODEL,
) -> str:
    """The text of a whole run."""
    return (
        f"specc 1\n{dims}{model}mesh {{ {mesh} }}\nlayout {{\n{layout}\n}}\n"
        f"train {{\n{train}}}\n{more}\n"
    )


def net(
    body: str,
    rule: str,
    mesh: str = "dp = 2, tp = 2",
    layout: str = "dp: shard B",
    inputs: str = "x: [B, S, d]",
) -> str:
    """The text of a run whose model has one body, to [B, S, d]."""
    model = f"model Net({inputs}) -> y: [B, S, d] {{\n{body}\n}}\n"
    return spec(f"{layout}\n{rule}", mesh, train=SQUARES, model=model)


def program(text: str) -> Program:
    """The Program of a text that is right up to here."""
    report = Report()
    file, found = parse(Source("t.spec", text))
    report.extend(found)
    made = None if report.failed else resolve(file, Path("t.spec"), report)
    assert made is not None, [d.title for d in report.diagnostics]
    return made


def override(path: str, value: str) -> Override:
    """`--set path=value`."""
    source = Source("<command line>", f"let x = {value}\n")
    file, _ = parse(source)
    let = file.declarations[0]
    assert isinstance(let, tree.Let)
    return Override(tuple(path.split(".")), let.value, f"{path}={value}")


def situation(
    target: str = "cpu",
    profile: str | None = None,
    layout: str | None = None,
    world: int | None = None,
    sets: dict[str, str] | None = None,
) -> Situation:
    overrides = tuple(override(path, value) for path, value in (sets or {}).items())
    return Situation(target, profile, layout, overrides, world)


def facts(text: str, **where: Any) -> Facts:
    """Facts of a text in which nothing is wrong."""
    report = Report()
    found = evaluate(program(text), situation(**where), report)
    assert found is not None, [(d.code, d.title) for d in report.diagnostics]
    return found


def findings(text: str, **where: Any) -> tuple[Diagnostic, ...]:
    """What the evaluation of a text reports."""
    report = Report()
    evaluate(program(text), situation(**where), report)
    return report.diagnostics


def examined(text: str, **where: Any) -> tuple[Diagnostic, ...]:
    """What the examination of all situations of a text reports."""
    report = Report()
    examine(program(text), situation(**where), report)
    return report.diagnostics


def only(found: tuple[Diagnostic, ...], code: str) -> Diagnostic:
    """The one finding there is, which must have this code."""
    assert [d.code for d in found] == [code], [(d.code, d.title) for d in found]
    return found[0]


def says(found: tuple[Diagnostic, ...], code: str) -> str:
    """Title of the one finding, with the text that its primary label points at."""
    finding = only(found, code)
    at = finding.labels[0].span.text if finding.labels else ""
    return f"{finding.title} @ {at}"
