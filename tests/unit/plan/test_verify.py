"""Facts that contradict each other are found, each kind on its own."""

import attrs
import pytest

from specc.plan.facts import Facts, Size, Split
from specc.plan.verify import PlanError, verify
from tests.unit.check.specs import facts as facts_of

SPEC = """specc 1
dim d = 8, S = 4, B = 2*dp, vocab = 16
block Block(x: [B, S, d]) -> [B, S, d] {
  lin: Linear(d -> d)
  return x + lin(x)
}
model M(ids: i64[B, S]) -> logits: [B, S, vocab] {
  embed:  Embedding(vocab -> d)
  blocks: repeat 2 Block
  head:   Linear(d -> vocab, bias = false)
  tie head.weight = embed.weight
  return ids -> embed -> blocks -> head
}
mesh { dp = 2 }
layout {
  dp: shard B
  dp: shard params per Block
}
train {
  data {
    ids = randint(vocab)
    labels: i64[B, S] = randint(vocab)
  }
  loss = cross_entropy(logits, labels)
  optimizer = SGD(lr = 0.1)
  steps = 1
}
"""


@pytest.fixture
def facts() -> Facts:
    return facts_of(SPEC)


def test_facts_of_a_sound_spec_hold(facts: Facts) -> None:
    verify(facts)


def test_axes_that_do_not_fill_the_world(facts: Facts) -> None:
    broken = attrs.evolve(facts, mesh=attrs.evolve(facts.mesh, world=3))
    with pytest.raises(PlanError, match="multiply to 2, the world has 3"):
        verify(broken)


def test_a_stride_that_the_order_of_axes_does_not_give(facts: Facts) -> None:
    axis = attrs.evolve(facts.mesh.axes[0], stride=2)
    broken = attrs.evolve(facts, mesh=attrs.evolve(facts.mesh, axes=(axis,)))
    with pytest.raises(PlanError, match="stride 2"):
        verify(broken)


def test_a_dim_that_does_not_divide(facts: Facts) -> None:
    dims = {**facts.dims, "B": Size(3, "3")}
    with pytest.raises(PlanError, match="B = 3 is split 2 ways"):
        verify(attrs.evolve(facts, dims=dims))


def test_an_axis_that_does_nothing(facts: Facts) -> None:
    layout = attrs.evolve(facts.layout, splits=())
    with pytest.raises(PlanError, match="split no data"):
        verify(attrs.evolve(facts, layout=layout))


def test_a_split_over_no_axis(facts: Facts) -> None:
    (split,) = facts.layout.splits
    layout = attrs.evolve(facts.layout, splits=(split, Split("S", (), split.rule)))
    verify(attrs.evolve(facts, layout=layout))  # no axes: whole, so nothing is wrong


@pytest.mark.parametrize("change", ["lost", "twice"])
def test_a_parameter_in_no_unit_or_in_two(facts: Facts, change: str) -> None:
    storage = facts.layout.storage
    first, *rest = storage.units
    names = first.parameters[1:] if change == "lost" else first.parameters
    if change == "twice":
        rest[-1] = attrs.evolve(rest[-1], parameters=(*rest[-1].parameters, first.parameters[0]))
    units = (attrs.evolve(first, parameters=names), *rest)
    layout = attrs.evolve(facts.layout, storage=attrs.evolve(storage, units=units))
    with pytest.raises(PlanError, match=r"lies in [02] units"):
        verify(attrs.evolve(facts, layout=layout))


def test_a_tie_to_a_parameter_that_is_tied_itself(facts: Facts) -> None:
    (tied,) = [p for p in facts.parameters if p.tied_to is not None]
    model = facts.model
    children = tuple(
        attrs.evolve(child, parameters=(attrs.evolve(tied, tied_to=tied.name),))
        if child.name == tied.name.split(".")[0]
        else child
        for child in model.children
    )
    broken = attrs.evolve(facts, model=attrs.evolve(model, children=children))
    with pytest.raises(PlanError, match="is tied to"):
        verify(broken)
