"""Every mesh of a few ranks, with what the spec says by its own mesh held."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from specc.api import load
from specc.check.meshes import frozen_settings, meshes

if TYPE_CHECKING:
    from specc.check.checked import Checked

SPEC = """\
specc 1
dim B = 2*dp, S = 8, heads = 4, hd = 2
dim d = heads*hd
model M(x: [B, S, d]) -> y: [B, S, d] {
  out: Linear(d -> d)
  return out(x)
}
mesh { dp = 4 { rep = 2, shards = rest }, cp = 1 }
layout {
  dp:     shard B
  shards: shard params
  cp:     shard S
}
train {
  data { x = randn, target: [B, S, d] = randn }
  loss       = mse(y, target)
  optimizer  = SGD(lr = 0.1)
  accumulate = 8/dp
  steps      = 2
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Checked:
    path = tmp_path / "m.spec"
    path.write_text(SPEC)
    return load(path, target="cpu").checked


def test_what_is_said_by_the_mesh_is_held_at_the_sizes_of_the_own_mesh(spec: Checked) -> None:
    assert frozen_settings(spec) == ("B = 2*4", "train.accumulate = 8/4")


def test_every_factorization_is_tried_the_smallest_worlds_first(spec: Checked) -> None:
    found = [str(each) for each in meshes(spec, 3)]
    assert found == [
        "rep=1 x shards=1 x cp=1",
        "rep=1 x shards=1 x cp=2",
        "rep=1 x shards=2 x cp=1",
        "rep=2 x shards=1 x cp=1",
        "rep=1 x shards=1 x cp=3",
        "rep=1 x shards=3 x cp=1",
        "rep=3 x shards=1 x cp=1",
    ]


def test_a_legal_mesh_has_the_batch_of_the_own_mesh(spec: Checked) -> None:
    legal = {str(each): each.spec.facts() for each in meshes(spec, 4) if not each.spec.failed}
    assert {facts.sizes["B"] for facts in legal.values()} == {8}
    assert {facts.training.accumulate for facts in legal.values()} == {2}
    facts = legal["rep=2 x shards=2 x cp=1"]
    assert {name: facts.mesh.degree(leaves) for name, leaves in facts.mesh.products.items()} == {
        "dp": 4,
        "rep": 2,
        "shards": 2,
        "cp": 1,
    }


def test_what_a_person_sets_is_held_and_its_mesh_is_only_the_own_one(tmp_path: Path) -> None:
    path = tmp_path / "m.spec"
    path.write_text(SPEC)
    overrides = ("mesh.cp = 2", "mesh.dp = 2", "mesh.rep = 1", "B = 4*dp")
    spec = load(path, target="cpu", overrides=overrides).checked
    assert frozen_settings(spec) == ("B = 4*2", "train.accumulate = 8/2")
    legal = [each for each in meshes(spec, 2) if not each.spec.failed]
    assert len(legal) == 4
    assert {each.spec.facts().sizes["B"] for each in legal} == {8}


def test_a_mesh_that_splits_nothing_evenly_is_not_legal(spec: Checked) -> None:
    (third,) = [each for each in meshes(spec, 3) if each.sizes["cp"] == 3]
    assert [d.code for d in third.spec.diagnostics if d.severity == "error"] == ["E0406"]
