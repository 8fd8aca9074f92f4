"""Calls of functions in `forward`."""

from specc.emit.link import run_text
from specc.plan.collectives import collectives
from specc.plan.facts import Facts
from specc.printing.text import print_text
from tests.unit.check.specs import MODEL, facts, spec

TWICE = MODEL.replace(
    "  h = x + attn(norm(x))\n",
    "  a = clamp(x, max = 2)\n  b = clamp(x, max = 2)\n  h = a + b + attn(norm(x))\n",
)


def sent(made: Facts) -> int:
    """Exchanges of all-to-all in a step."""
    return sum(one.count for one in collectives(made) if one.kind == "all_to_all")


def test_the_same_call_may_stand_twice_in_a_block() -> None:
    text = run_text(print_text(facts(spec(model=TWICE))))
    assert text.count("x.clamp(max=2.0)") == 2


def test_the_same_attention_twice_exchanges_twice() -> None:
    layout, mesh = "dp: shard B\ncp: shard S via ulysses(heads)", "dp = 1, cp = 2"
    once = MODEL.replace("kv", "heads")
    call = "attention(q, k, v, causal = true)"
    twice = once.replace(f"  return {call}", f"  y = {call}\n  return (y + {call})")
    assert sent(facts(spec(layout, mesh, model=twice))) == 2 * sent(
        facts(spec(layout, mesh, model=once))
    )


TURNED = """\
block A(x: [B, S, d]) -> [B, S, d] {
  wq: Linear(d -> heads*hd)
  wo: Linear(heads*hd -> d)
  q = wq(x) as [B, S, heads, hd]
  k = rope(q, theta = 1e4)
  return wo(attention(k, k, q) as [B, S, heads*hd])
}

model M(ids: i64[B, S]) -> logits: [B, S, vocab] {
  embed:  Embedding(vocab -> d)
  blocks: repeat 2 A
  head:   Linear(d -> vocab)
  return ids -> embed -> blocks -> head
}
"""


def test_what_is_recomputed_after_a_kept_value_reads_only_what_it_is_given() -> None:
    rules = "dp: shard B\nrecompute each A { keep = [q] }"
    text = run_text(print_text(facts(spec(rules, model=TURNED))))
    assert "def segment_1(self, q):" in text
    assert "rope(q, rope_frequencies(HD, 1e4, q.device))" in text


def test_a_segment_may_read_no_value() -> None:
    rules = "dp: shard B\nrecompute each A { keep = [q] }"
    model = TURNED.replace("  q = wq", "  t: Param([d])\n  s = 2*t\n  q = wq")
    model = model.replace("return wo(", "return s*wo(")
    text = run_text(print_text(facts(spec(rules, model=model))))
    assert "s = checkpoint(self.segment_1, use_reentrant=False)" in text
    assert "def segment_1(self):" in text


def test_a_cast_has_one_pair_of_parentheses() -> None:
    model = MODEL.replace("  h = x + attn(norm(x))", "  h: fp32[B, S, d] = x + attn(norm(x))")
    assert "h = (x + self.attn(self.norm(x))).float()" in run_text(
        print_text(facts(spec(model=model)))
    )
