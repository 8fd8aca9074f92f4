"""What a step sends, as the Plan counts it."""

import pytest

from specc.plan.collectives import collectives
from tests.unit.check.specs import MODEL, SQUARES, facts, spec

CROSS = """\
block A(x: [B, S, d], m: [B, T, d]) -> [B, S, d] {
  wq: Linear(d -> heads*hd)
  wk: Linear(d -> heads*hd)
  wo: Linear(heads*hd -> d)
  q = wq(x) as [B, S, heads, hd]
  k = wk(m) as [B, T, heads, hd]
  return wo(attention(q, k, k) as [B, S, heads*hd])
}

model M(x: [B, S, d], m: [B, T, d]) -> out: [B, S, d] {
  one: A
  return one(x, m)
}
"""
FLOATS = """\
  data { x = randn, m = randn }
  loss = mean(out)
  optimizer = SGD(lr = 0.1)
  steps = 1
"""
TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")


def test_a_root_whose_parameters_are_all_in_other_units_is_not_gathered() -> None:
    rules = "dp: shard B\ndp: shard params per Block, embed, norm"
    found = collectives(facts(spec(rules, "dp = 2", model=TIED)))
    gathered = [one for one in found if one.kind == "all_gather"]
    assert gathered
    assert all(one.bytes for one in gathered)


def test_keys_of_another_sequence_are_counted_by_their_own_length() -> None:
    dims = "dim S = 8, T = 6, B = 4, heads = 2, hd = 4, d = 8\n"
    layout = "cp: shard S via ulysses(heads)"
    made = facts(spec(layout, "cp = 2", dims=dims, model=CROSS, train=FLOATS))
    found = [one for one in collectives(made) if one.kind == "all_to_all"]
    assert {one.bytes for one in found} == {4 * 4 * 4 * 2 * 4, 4 * 4 * 6 * 2 * 4}


ENDING = """\
block Block(x: [B, S, d]) -> [B, S, d] {
  up:   Linear(d -> ff)
  down: Linear(ff -> d, bias = false)
  h = down(silu(up(x)))
  return %s
}

model Net(x: [B, S, d]) -> y: [B, S, d] {
  blocks: repeat 2 Block
  return blocks(x)
}
"""


@pytest.mark.parametrize(
    ("result", "again"),
    [
        *((text, 0) for text in ("x + h", "x + 0.5*h", "x + h/2", "x - h*2", "x + (-h)", "1 - h")),
        *((text, 0) for text in ("x + mean(h, over = S)", "sum(h, over = S) + x")),
        *((text, 2) for text in ("x + h*h", "x + 2/(h*h + 1)", "x + silu(h)", "h*x")),
    ],
)
def test_recomputation_stops_behind_what_backward_needs(result: str, again: int) -> None:
    """`h` is added up over ranks once in forward, and again only where something keeps it.

    As `specc verify` counts it for each of these.
    """
    rules = "dp: shard B\ntp: shard ff\nrecompute each Block"
    text = spec(rules, "dp = 1, tp = 2", model=ENDING % result, train=SQUARES)
    cause = "values between parameters that are split"
    sent = [one for one in collectives(facts(text)) if one.cause == cause]
    forward, backward = 2, 1  # the first block's input has no gradient
    assert sum(one.count for one in sent) == forward + backward + again
