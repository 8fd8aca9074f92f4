"""The command line and the Python API with torch: run, build, somebody's own loop."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch.distributed as dist

import specc
from specc.runtime.pool import Pool
from tests.checking import run_cli
from tests.repository import ROOT

pytestmark = [pytest.mark.run, pytest.mark.timeout(240)]

SPECS = ROOT / "specs"
SMALL = ("d=32", "vocab=64", "S=16", "depth=2", "train.steps=3")
EXTERN = """\
specc 1
extern "mixer:Mixer" block Mix[B, d, k](x: [B, d]) -> [B, d] {
  init(d = d, k = k)
  param a.weight: [k, d]
  param a.bias: [k]
  param b.weight: [d, k]
}
dim B = 4, d = 8, k = 16
model M(x: [B, d]) -> y: [B, d] {
  m: Mix
  return m(x)
}
train {
  data { x = randn }
  loss      = mean(y)
  optimizer = SGD(lr = 0.1)
  steps     = 2
}
"""
MIXER = """\
from torch import nn


class Mixer(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.a = nn.Linear(d, k)
        self.b = nn.Linear(k, d, bias=False)

    def forward(self, x):
        return self.b(self.a(x))
"""


@pytest.fixture(autouse=True)
def no_group() -> Iterator[None]:
    """A training that fails in this process leaves its group behind."""
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def flags(*overrides: str) -> list[str]:
    return [word for override in overrides for word in ("--set", override)]


def records(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ------------------------------------------------------------------------------------------ run


def test_one_rank_trains_in_this_process(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["run", str(SPECS / "tinyllm.spec"), "--target", "cpu", "--ranks", "1"]
    code, out, err = run_cli([*command, *flags(*SMALL), "--metrics", "logs/m.jsonl"])

    assert code == 0, err
    assert out.startswith("step 0: loss ")
    assert "target cpu: as asked\n" in err
    assert [row["step"] for row in records(folder / "logs" / "m.jsonl")] == [0, 1, 2]


def test_two_ranks_train_and_the_loss_is_drawn(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    command = ["run", str(SPECS / "tinyllm.spec"), "--target", "cpu"]
    code, _, err = run_cli([*command, *flags(*SMALL), "--plot", "loss.png"])

    assert code == 0, err
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert list(folder.iterdir()) == [folder / "loss.png"]


def test_a_fault_in_a_run_is_4(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "mixer.py").write_text(MIXER.replace("self.b(", "self.c("))
    (folder / "run.spec").write_text(EXTERN)
    code, _, err = run_cli(["run", "--target", "cpu"])

    assert code == 4
    assert "AttributeError: 'Mixer' object has no attribute 'c'" in err
    assert "internal error" not in err


# ---------------------------------------------------------------------------------------- build


def test_a_large_spec_builds_among_fake_ranks(folder: Path) -> None:
    code, out, err = run_cli(["build", str(SPECS / "longctx.spec")])

    assert code == 0, err
    assert out.startswith("longctx: Llama on 16 ranks, target musa; built without memory")
    assert "\nrank 0 holds 501,891,328 of 8,030,261,248 elements: 1.87 GiB of weights;\n" in out
    assert "  Block     x 32" in out


def test_local_ranks_build_for_real(folder: Path) -> None:
    command = [sys.executable, "-m", "specc", "build", str(SPECS / "tinyllm.spec")]
    command += ["--target", "cpu", "--ranks", "2", *flags(*SMALL)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    _, imagined, _ = run_cli(["build", *command[4:7], "--world", "2", *flags(*SMALL)])

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("on 2 ranks, target cpu; built")
    assert done.stdout.splitlines()[1:] == imagined.splitlines()[1:]


# ------------------------------------------------------------------------------------ own loops


def test_somebodys_own_loop_inside_a_process_group(pool: Pool) -> None:
    path = str(SPECS / "tinyllm.spec")
    job = "tests.runs.api_jobs:own_loop"
    alone = pool.run(job, path, (*SMALL, "B=8"), 3, world=1)[0]
    both = pool.run(job, path, (*SMALL, "B=8"), 3, world=2)

    assert len(alone) == 3
    assert alone[0] > alone[-1]
    assert sum(losses[0] for losses in both) / 2 == pytest.approx(alone[0], rel=2e-2)  # bf16


def test_the_specs_own_loop_gives_the_records_of_a_run(pool: Pool) -> None:
    path = str(SPECS / "tinyllm.spec")
    own = pool.run("tests.runs.api_jobs:own_records", path, SMALL, world=2)
    text = specc.load(path, target="cpu", overrides=SMALL, world=2).text()
    run = pool.run("specc.runtime.execute:train_records", text, "tinyllm", world=2)

    for rows in run:
        rows[0].pop("weights")  # which `main` adds
    assert own == run


@pytest.mark.parametrize(
    ("name", "overrides", "world", "mesh"),
    [
        ("tinyllm", SMALL, 2, "('dp',) (2,)"),
        ("toy_ddp", ("din=8", "hid=16", "dout=4"), 2, "('dp',) (2,)"),
        ("hsdp", (), 4, "('rep', 'fsdp') (2, 2)"),
    ],
)
def test_ranks_hold_what_the_plan_says(
    pool: Pool, name: str, overrides: tuple[str, ...], world: int, mesh: str
) -> None:
    job = "tests.runs.api_jobs:shapes"
    found = pool.run(job, str(SPECS / f"{name}.spec"), overrides, world=world)

    assert found == [(True, mesh)] * world


def test_ones_own_loop_drops_what_the_specs_loop_drops(pool: Pool) -> None:
    path = str(SPECS / "tied.spec")
    overrides = ("train.steps=3", "B=2", "S=32")
    own = pool.run("tests.runs.api_jobs:labelled_loop", path, overrides, 3, world=1)[0]
    records = pool.run("tests.runs.api_jobs:own_records", path, overrides, world=1)[0]

    assert own == pytest.approx([record["loss"] for record in records], rel=1e-5)


def test_ones_own_loop_goes_on_with_the_masks_of_its_step(pool: Pool) -> None:
    overrides = ("train.accumulate=2", "B=2", "S=32")
    path = str(SPECS / "tied.spec")
    losses, later = pool.run("tests.runs.api_jobs:losses_from", path, overrides, world=1)[0]

    assert later == losses[2]  # each step has two batches
    assert len(set(losses)) == 3


SPLIT = str(ROOT / "tests" / "cases" / "parity" / "tensor.spec")
SPLIT_LOOP = "tests.runs.api_jobs:split_loop"


def test_ones_own_loop_over_pieces_has_the_gradients_of_one_rank(pool: Pool) -> None:
    alone = pool.run(SPLIT_LOOP, SPLIT, (), True, world=1)[0]
    both = pool.run(SPLIT_LOOP, SPLIT, ("mesh.tp=2",), True, world=2)

    assert both[0] == both[1] == pytest.approx(alone, rel=1e-4)


def test_a_step_without_the_sums_of_gradients_is_refused(pool: Pool) -> None:
    told = pool.run(SPLIT_LOOP, SPLIT, ("mesh.tp=2",), False, world=2)

    assert told[0] == told[1]
    assert told[0] == (
        "gradients of 7 parameters are not summed over the ranks that use them: call"
        " `sum_gradients()` of the built training once a step, after `backward` and before clipping"
    )


def test_another_world_is_refused(pool: Pool) -> None:
    told = pool.run("tests.runs.api_jobs:wrong_world", str(SPECS / "toy_ddp.spec"), world=2)

    assert told == ["toy_ddp needs 3 ranks (dp=3), here are 2"] * 2


def test_the_example_trains_under_torchrun(folder: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", str(ROOT / "docs" / "examples" / "own_loop.py")]
    command += [str(SPECS / "quickstart" / "quickstart.spec"), "--steps", "4"]
    command += flags("d=32", "depth=1", "S=32", "heads=2")
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    losses = [float(line.split()[3].rstrip(",")) for line in done.stdout.splitlines()]

    assert done.returncode == 0, done.stderr
    assert len(losses) == 4
    assert losses[0] > losses[-1]


def test_a_closed_training_has_weights_and_nothing_of_its_group(pool: Pool) -> None:
    """A reducer of DDP that outlives its process group can hang."""
    job = "tests.runs.api_jobs:left_after_closing"
    (found,) = pool.run(job, str(SPECS / "toy_ddp.spec"), world=1, group=False)
    assert found == (False, [], 29_369_344)
