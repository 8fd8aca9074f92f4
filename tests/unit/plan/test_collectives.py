"""What a step sends, as the Plan counts it."""

from specc.plan.collectives import collectives
from tests.unit.check.specs import MODEL, facts, spec

TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")


def test_a_root_whose_parameters_are_all_in_other_units_is_not_gathered() -> None:
    rules = "dp: shard B\ndp: shard params per Block, embed, norm"
    found = collectives(facts(spec(rules, "dp = 2", model=TIED)))
    gathered = [one for one in found if one.kind == "all_gather"]
    assert gathered
    assert all(one.bytes for one in gathered)
