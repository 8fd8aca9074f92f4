"""Classes and functions of one's own train alike on one rank, on sharded ranks, and as a script."""

import math
from pathlib import Path
from typing import Any

import pytest

import specc
from specc.runtime.pool import Pool

pytestmark = pytest.mark.run

SPEC = """\
specc 1
extern "tests.runs.extern_parts:Scaled" block Scaled[B, S, d](x: [B, S, d]) -> [B, S, d] {
  init(d, mode = "learned", parts = [1, 1])
  param weight:       [d]
  param inner.weight: [2*d, d]
  buffer shift:       [d]
  split B
}
extern "tests.runs.extern_parts:gate" block Gate[B, S, d](x: [B, S, d], y: [B, S, d]) -> [B, S, d] {
  call = function
  split B, S
}
dim B = 8, S = 4, d = 6
block Block(x: [B, S, d]) -> [B, S, d] {
  own: Scaled
  return Gate(x, own(x)) + x
}
model M(x: [B, S, d]) -> y: [B, S, d] {
  blocks: repeat 2 Block
  out:    Linear(d -> d)
  return x -> blocks -> out
}
mesh { dp = world }
layout {
  dp: shard B
  dp: shard params per Block
}
layout ddp {
  dp: shard B
}
train {
  data { x = randn, target: [B, S, d] = randn }
  loss      = mse(y, target)
  optimizer = AdamW(lr = 1e-2)
  steps     = 4
}
"""


def trained(pool: Pool, folder: Path, world: int, layout: str = "", *, script: bool = False) -> Any:
    path = folder / "own.spec"
    path.write_text(SPEC, encoding="utf-8")
    spec = specc.load(path, target="cpu", world=world, layout=layout or None)
    text = spec.script() if script else spec.text()
    job = "specc.runtime.execute:train_records"
    return pool.run(job, text, "own", world=world)[0]


def far(found: Any, expected: Any) -> list[tuple[int, str]]:
    """Steps and figures that differ by more than rounding."""
    return [
        (one["step"], key)
        for one, two in zip(found, expected, strict=True)
        for key in ("loss", "grad_norm")
        if not math.isclose(one[key], two[key], rel_tol=1e-5)
    ]


@pytest.mark.parametrize(("world", "layout"), [(2, ""), (4, ""), (2, "ddp")])
def test_ranks_train_as_one_does(pool: Pool, tmp_path: Path, world: int, layout: str) -> None:
    alone = trained(pool, tmp_path, 1)
    together = trained(pool, tmp_path, world, layout)
    assert together[0]["weights"] == alone[0]["weights"]
    assert far(together, alone) == []


def test_a_script_trains_as_a_run_does(pool: Pool, tmp_path: Path) -> None:
    keys = ("loss", "grad_norm")
    run, script = (trained(pool, tmp_path, 2, script=script) for script in (False, True))
    assert [[row[key] for key in keys] for row in run] == [[row[k] for k in keys] for row in script]
