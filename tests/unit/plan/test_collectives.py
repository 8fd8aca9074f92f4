"""What a step sends, as the Plan counts it."""

from specc.plan.collectives import collectives
from tests.unit.check.specs import MODEL, facts, spec

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
