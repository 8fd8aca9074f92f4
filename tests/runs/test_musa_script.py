"""The scripts for Moore Threads GPUs, proved as far as a machine without one can.

First under fake tensors: what ranks of both nodes of 2 x 8 send in one step is what the Plan says,
and so it is for Llama 3.1 on 256 and on 4,096 ranks.
Second on the stand-in device: the lesson's scripts train there as they do on the cpu.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from specc import load
from specc.plan.collectives import collectives
from specc.runtime.verdict import expected
from tests.repository import ROOT
from tests.runs.jobs import uncompiled_records
from tests.standin.build import environment as standin_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.api import Spec
    from specc.runtime.pool import Pool

SPECS = ROOT / "specs"
COUNTED = ("all_gather", "reduce_scatter", "all_to_all", "send")

pytestmark = pytest.mark.run


def small_longctx(folder: Path) -> Path:
    """longctx.spec with two layers and small sizes on the same 4 x 4 mesh."""
    for name in ("lib", "clusters"):
        shutil.copytree(SPECS / name, folder / name)
    text = (SPECS / "longctx.spec").read_text()
    for old, new in (
        ("vocab = 128_256, d = 4096, depth = 32", "vocab = 1024, d = 96, depth = 2"),
        ("heads = 32, kv = 8, hd = d/heads, ff = 14_336", "heads = 8, kv = 4, hd = 16, ff = 208"),
        ("dim S = 64K", "dim S = 256"),
        ("chunk = 2K", "chunk = 32"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = folder / "longctx.spec"
    path.write_text(text)
    return path


def planned(spec: Spec) -> Counter[tuple[str, str, str, int]]:
    """Collectives of one step by kind, axes, dtype and bytes."""
    facts = spec.facts()
    sizes = {axis.name: axis.size.value for axis in facts.mesh.axes}
    every = expected(collectives(facts), sizes)
    return Counter({key: count for key, count in every.items() if key[0] in COUNTED})


def sent(
    script: Path, ranks: tuple[int, ...], world: int = 16
) -> list[Counter[tuple[str, str, str, int]]]:
    """What each of some ranks sends during one step of the script's own main()."""
    command = [sys.executable, "-m", "tests.standin.fake", str(script), "--started"]
    command += ["--world-size", str(world)]
    command += [word for rank in ranks for word in ("--rank", str(rank))]
    skipped = ("digest", *(["save"] if "def save(" in script.read_text() else []))
    command += [word for name in skipped for word in ("--skip", name)] + ["--set", "STEPS=1"]
    variables = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=script.parent,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [counted(line["collectives"]) for line in lines]


def counted(rows: list[dict[str, Any]]) -> Counter[tuple[str, str, str, int]]:
    """Rows of the recorder in the Plan's words."""
    found: Counter[tuple[str, str, str, int]] = Counter()
    for row in rows:
        if row["kind"] in COUNTED:
            axes = row["axis"].replace("_", "*")
            found[(row["kind"], axes, row["dtype"], row["bytes"])] += row["count"]
    return found


@pytest.mark.timeout(900)
def test_ranks_of_both_nodes_send_what_the_plan_says(tmp_path: Path) -> None:
    path = small_longctx(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "books-0.bin").write_bytes(bytes(2 * 4000))
    script = tmp_path / "longctx.py"
    spec = load(path, target="musa")
    script.write_text(spec.script())
    wanted = planned(spec)
    assert {kind for kind, *_ in wanted} == {"all_gather", "reduce_scatter", "all_to_all"}
    assert sent(script, (0, 8, 15)) == [wanted] * 3


@pytest.mark.timeout(900)
@pytest.mark.parametrize("layout", [None, pytest.param("ring", marks=pytest.mark.slow)])
def test_ranks_of_a_tensor_split_send_what_the_plan_says(
    layout: str | None, tmp_path: Path
) -> None:
    """In bf16, which `specc verify` does not try."""
    sets = ("mesh.cp=2", "train.steps=1")
    spec = load(SPECS / "tensor.spec", target="musa", layout=layout, world=16, overrides=sets)
    script = tmp_path / "tensor.py"
    script.write_text(spec.script())
    wanted = planned(spec)
    assert {axes for _, axes, *_ in wanted} >= {"cp", "dp*cp"}
    assert sent(script, (15,)) == [wanted]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("depth", "world", "layout", "profile"),
    [
        (2, 256, "ring", None),
        (2, 4096, "ulysses", "llama_70b"),
        pytest.param(32, 256, "ring", None, marks=pytest.mark.slow),
        pytest.param(80, 4096, "ulysses", "llama_70b", marks=pytest.mark.slow),
    ],
)
def test_ranks_of_large_worlds_send_what_the_plan_says(
    depth: int, world: int, layout: str, profile: str | None, tmp_path: Path
) -> None:
    path = ROOT / "tests" / "cases" / "worlds" / "llama.spec"
    situation = {"layout": layout, "profile": profile, "world": world}
    spec = load(path, target="musa", overrides=(f"depth={depth}",), **situation)
    script = tmp_path / "llama.py"
    script.write_text(spec.script())
    assert sent(script, (world - 1,), world) == [planned(spec)]


# Each spec at a size that two cores train.
LESSON = {
    "toy_ddp": "din = 64, hid = 128, dout = 32",
    "tinyllm": "d = 32, vocab = 64, S = 16, depth = 2",
    "longctx": (
        "mesh.dp = rest, mesh.cp = 2, depth = 2, d = 64, heads = 4, kv = 2, ff = 128, S = 64, "
        "vocab = 256, train.accumulate = 1, "
        "train.data { ids = randint(vocab), labels = randint(vocab) }"
    ),
}

OTHERS = {"ring": "mesh.cp = 2, S = 32"}  # calls that the lesson does not make


def metrics(script: Path, ranks: int, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """The records of a script started by torchrun."""
    log = script.with_suffix(".jsonl")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={ranks}", str(script)]
    variables = {"METRICS": str(log), "OMP_NUM_THREADS": "1", "TORCH_COMPILE_DISABLE": "1"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=script.parent,
        env={**environment, **variables},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *((name, 2) for name in ("toy_ddp", "tinyllm", *OTHERS)),
        ("longctx", 4),
        pytest.param("longctx", 2, marks=pytest.mark.slow),
        *(pytest.param(name, 4, marks=pytest.mark.slow) for name in ("toy_ddp", "tinyllm")),
    ],
)
def test_the_lesson_trains_on_the_stand_in_as_on_the_cpu(
    name: str, ranks: int, tmp_path: Path, pool: Pool
) -> None:
    spec = lesson_spec(name, tmp_path)
    text = {
        target: load(spec, target=target, profile="small", world=ranks).script()
        for target in ("cpu", "musa")
    }
    true = pool.run(uncompiled_records, text["cpu"], name, world=ranks)[0]
    script = tmp_path / f"{name}.py"
    script.write_text(text["musa"])
    found = metrics(script, ranks, standin_environment())
    assert len(found) == len(true) >= 3
    for musa, cpu in zip(found, true, strict=True):
        assert musa["loss"] == pytest.approx(cpu["loss"], rel=1e-5)
        assert musa["grad_norm"] == pytest.approx(cpu["grad_norm"], rel=1e-5)
    assert found[0]["weights"] == true[0]["weights"]


def lesson_spec(name: str, folder: Path) -> Path:
    """A lesson spec in fp32, with a profile `small`."""
    for part in ("lib", "clusters"):
        shutil.copytree(SPECS / part, folder / part)
    text = (SPECS / f"{name}.spec").read_text().replace("params = bf16", "params = fp32")
    text += f"\nprofile small {{ {(LESSON | OTHERS)[name]}, train.steps = 4 }}\n"
    path = folder / f"{name}.spec"
    path.write_text(text)
    return path
