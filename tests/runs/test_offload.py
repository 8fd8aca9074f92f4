"""What lies on the host trains as what lies on the device, on the stand-in musa device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from specc import load
from specc.plan.memory import memory
from specc.runtime.execute import train_records
from tests.runs.test_musa_script import metrics
from tests.standin.build import environment

if TYPE_CHECKING:
    from pathlib import Path

    from specc.api import Spec
    from specc.runtime.pool import Pool

pytestmark = [pytest.mark.run, pytest.mark.timeout(900)]

RANKS = 2

SPEC = """\
specc 1
dim vocab = 256, d = 32, S = 16, depth = 3, ff = 4*d
dim B = 8

block Block(x: [B, S, d]) -> [B, S, d] {
  norm: RMSNorm(d)
  up:   Linear(d -> ff)
  down: Linear(ff -> d)
  return x + down(gelu(up(norm(x))))
}

model Net(ids: i64[B, S]) -> logits: [B, S, vocab] {
  wte:    Embedding(vocab -> d)
  shift:  Buffer([d], init = ones)
  blocks: repeat depth Block
  norm:   LayerNorm(d)
  head:   Linear(d -> vocab, bias = false)
  tie head.weight = wte.weight
  return wte(ids) + shift -> blocks -> norm -> head
}

mesh { dp = rest, tp = 1 }

layout plain  { dp: shard B, params per Block; tp: replicate }
layout all    { dp: shard B, params per Block; tp: replicate; offload { to = cpu } }
layout some   { dp: shard B, params per Block; tp: replicate; offload each Block { to = cpu } }
layout state  { dp: shard B, params per Block; tp: replicate; offload optim { to = cpu } }
layout copies { dp: shard B; tp: replicate; offload { to = cpu } }
layout ddp    { dp: shard B; tp: replicate; offload optim { to = cpu } }
layout tensor { dp: shard B; tp: shard ff, vocab else S; offload { to = cpu } }

train {
  data { ids, labels = text("builtin") }
  loss       = cross_entropy(logits, labels)
  optimizer  = AdamW(lr = 1e-2, decay = matrices)
  optimize blocks[0].up { frozen = true }
  schedule   = cosine(warmup = 2)
  clip       = 1.0
  accumulate = 2
  steps      = 4
  log  { every = 10 }
  save { every = 2, dir = "ckpt" }
}
"""

# Written by rank 0 at the end: where things lie, and the bytes that the device holds.
PROBE = """\
    if RANK == 0:
        state = [v for s in optimizer.state.values() for k, v in s.items() if k != "step"]
        found = {
            "weights": sorted({p.device.type for p in model.parameters()}),
            "buffers": sorted({b.device.type for b in model.buffers()}),
            "state": sorted({v.device.type for v in state}),
            "bytes": torch.musa.memory_allocated(),
        }
        Path("places.json").write_text(json.dumps(found))
"""

Records = list[dict[str, Any]]


def spec(folder: Path, layout: str, target: str) -> Spec:
    path = folder / "net.spec"
    path.write_text(SPEC)
    sets = [f'train.save.dir="{folder}/ckpt"']
    sets += ["mesh.dp=1", "mesh.tp=2"] if layout == "tensor" else []
    return load(path, target=target, layout=layout, world=RANKS, overrides=sets)


def on_standin(folder: Path, layout: str, resume: str = "") -> tuple[Records, dict[str, Any]]:
    """Records of a training there, and what the probe found."""
    script = folder / f"{layout}.py"
    text = spec(folder, layout, "musa").script()
    assert "    log.summary()\n" in text
    script.write_text(text.replace("    log.summary()\n", f"{PROBE}    log.summary()\n"))
    found = metrics(script, RANKS, {**environment(), "RESUME": resume})
    return found, json.loads((folder / "places.json").read_text())


def on_cpu(pool: Pool, folder: Path, layout: str, resume: str = "") -> Records:
    text = spec(folder, layout, "cpu").text()
    return pool.run(train_records, text, layout, None, {"RESUME": resume}, world=RANKS)[0]


def assert_alike(found: Records, true: Records) -> None:
    assert len(found) == len(true) > 0
    for one, other in zip(found, true, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-5)
        assert one["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-5)


@pytest.mark.parametrize(
    ("layout", "weights", "state"),
    [
        ("all", ["cpu"], ["cpu"]),
        pytest.param("some", ["cpu", "musa"], ["cpu", "musa"], marks=pytest.mark.slow),
        ("state", ["musa"], ["cpu"]),
        pytest.param("tensor", ["cpu"], ["cpu"], marks=pytest.mark.slow),
        pytest.param("copies", ["cpu"], ["cpu"], marks=pytest.mark.slow),
        pytest.param("ddp", ["musa"], ["cpu"], marks=pytest.mark.slow),
    ],
)
def test_it_trains_as_without_and_a_checkpoint_goes_on_without(
    layout: str, weights: list[str], state: list[str], tmp_path: Path, pool: Pool
) -> None:
    """On the cpu nothing is moved: the same layout there is the training without."""
    found, places = on_standin(tmp_path, layout)
    assert (places["weights"], places["state"]) == (weights, state)
    assert places["buffers"] == ["musa"]

    resumed = on_cpu(pool, tmp_path, layout, resume="step_2")
    assert_alike(resumed, found[2:])
    for folder in ("step_2", "step_4"):
        (tmp_path / "ckpt" / folder).rename(tmp_path / folder)
    true = on_cpu(pool, tmp_path, layout)
    assert_alike(found, true)
    assert found[0]["weights"] == true[0]["weights"]


@pytest.mark.parametrize("layout", [pytest.param("all", marks=pytest.mark.slow), "state"])
def test_a_checkpoint_without_goes_on_with_it(layout: str, tmp_path: Path, pool: Pool) -> None:
    true = on_cpu(pool, tmp_path, "ddp")

    found, places = on_standin(tmp_path, layout, resume="step_2")

    assert_alike(found, true[2:])
    assert places["state"] == ["cpu"]


@pytest.mark.slow
def test_the_device_is_rid_of_what_the_plan_says(tmp_path: Path) -> None:
    held = {layout: memory(spec(tmp_path, layout, "musa").facts()) for layout in ("plain", "state")}
    there: dict[str, int] = {}
    for layout in held:
        folder = tmp_path / layout
        folder.mkdir()
        there[layout] = on_standin(folder, layout)[1]["bytes"]

    # Gradients are gone at the end; exp_avg and exp_avg_sq are not.
    assert there["plain"] - there["state"] == held["plain"].optimizer > held["state"].optimizer
