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
