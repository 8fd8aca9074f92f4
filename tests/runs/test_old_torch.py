"""Emitted scripts train under older torch as they train under the newest one."""

import functools
import json
import math
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path
from typing import Any

import attrs
import pytest

import specc
from specc.runtime.pool import Pool
from specc.targets.troubles import CHATTER
from tests.repository import ROOT

pytestmark = [pytest.mark.oldtorch, pytest.mark.run, pytest.mark.timeout(900, func_only=True)]

SPECS = ROOT / "tests" / "cases" / "oldtorch"
# Loss and gradient norm in fp32 agree to rounding; bf16 has 8 bits, and kernels round differently.
TOLERANCES = {
    "ddp": 1e-5,
    "fsdp": 1e-5,
    "ulysses": 1e-5,
    "tensor": 1e-5,
    "hsdp": 1e-5,
    "bf16": 2e-2,
}
TRAINED = [
    *(("2.7.1", name) for name in ("ddp", "ulysses", "bf16", "tensor")),
    *(("2.9.1", name) for name in ("ulysses", "hsdp")),
]
MORE = [  # half a minute each
    ("2.7.1", "fsdp"),
    *(("2.9.1", name) for name in ("ddp", "fsdp", "bf16", "tensor")),
]
DOWNLOAD_BYTES = 12 * 2**30  # plain torch from the index brings CUDA; pip keeps a copy of its own
RECORDS = re.compile(r"step \d+: loss |\d+ steps, loss ")
Rows = list[dict[str, Any]]


def interpreter(version: str) -> Path:
    """A Python with that torch: the one named, else that of a venv, which is made when asked for.

    The test is skipped where there is none.
    """
    variable = f"SPECC_OLD_TORCH_{version.replace('.', '_')}"
    named = os.environ.get(variable)
    if named:
        return Path(named)
    cache = os.environ.get("SPECC_TEST_CACHE", str(Path.home() / ".cache" / "specc-tests"))
    folder = Path(cache) / f"torch-{version}"
    python = folder / "bin" / "python"
    if installed(python) == version:
        return python
    if os.environ.get("SPECC_OLD_TORCH") != "1" and not os.environ.get("CI"):
        pytest.skip(
            f"no torch {version}: SPECC_OLD_TORCH=1 installs it into {folder} (gigabytes), "
            f"{variable} names a Python that has it"
        )
    make_venv(folder, version)
    return python


def installed(python: Path) -> str | None:
    """Version of torch that an interpreter has, without the build's suffix; None for none."""
    if not python.exists():
        return None
    code = "import importlib.metadata as m; print(m.version('numpy') and m.version('torch'))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip().partition("+")[0] if done.returncode == 0 else None


def make_venv(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < DOWNLOAD_BYTES:
        pytest.skip(f"torch {version} needs 12 GiB of disk, {folder} has {free / 2**30:.1f}")
    venv.create(folder, with_pip=True, clear=True)
    packages = [f"torch=={version}", "numpy"]
    # the constraints of this checkout are for its own torch
    environ = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
    subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *packages],
        env=environ,
        timeout=1800,
        check=True,
    )


@functools.cache
def script(name: str) -> tuple[str, int]:
    """The emitted script of a spec, and its number of ranks."""
    spec = specc.load(SPECS / f"{name}.spec", target="cpu")
    return spec.script(), spec.facts().mesh.world


@attrs.frozen
class Done:
    """What a training ended with, and what its ranks wrote, one rank after the other."""

    code: int
    out: str
    err: str


def run(python: Path, name: str, folder: Path) -> Done:
    """Train with that Python's torchrun, isolated from this checkout; records go to the folder."""
    text, ranks = script(name)
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    torchrun = [python, "-I", "-m", "torch.distributed.run", "--standalone"]
    # a file for each rank and stream, for native code writes its lines in pieces
    logs = ["--redirects=3", f"--log-dir={folder / 'logs'}"]
    done = subprocess.run(
        [*torchrun, *logs, f"--nproc-per-node={ranks}", path],
        cwd=folder,
        env={**os.environ, "METRICS": str(folder / "metrics.jsonl"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    out, err = (
        "".join(log.read_text() for log in sorted((folder / "logs").rglob(f"{stream}.log")))
        for stream in ("stdout", "stderr")
    )
    return Done(done.returncode, done.stdout + out, done.stderr + err)


def rows(folder: Path) -> Rows:
    text = (folder / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def newest(pool: Pool) -> Any:
    """Records of a script under the torch of these tests, trained once."""

    @functools.cache
    def trained(name: str) -> Rows:
        text, ranks = script(name)
        return pool.run("specc.runtime.execute:train_records", text, name, world=ranks)[0]

    return trained


def noise(done: Done) -> list[str]:
    """Lines that the script has not written itself; what gloo of torch 2.9 says is known."""
    known = re.compile(CHATTER.decode())
    out = [x for x in done.out.splitlines() if not known.match(x) and not RECORDS.match(x)]
    return out + done.err.splitlines()


@pytest.mark.parametrize(
    ("version", "name"),
    [*TRAINED, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)],
)
def test_a_script_trains_as_under_the_newest_torch(
    version: str, name: str, newest: Any, tmp_path: Path
) -> None:
    done = run(interpreter(version), name, tmp_path)
    assert done.code == 0, done.err
    assert noise(done) == []
    found, expected = rows(tmp_path), newest(name)
    assert [row["step"] for row in found] == [row["step"] for row in expected]
    far = [
        (old["step"], key, old[key], new[key])
        for old, new in zip(found, expected, strict=True)
        for key in ("loss", "grad_norm")
        if not math.isclose(old[key], new[key], rel_tol=TOLERANCES[name])
    ]
    assert far == []


def test_torch_2_7_refuses_hsdp_over_gloo_and_trains_nothing_wrong(tmp_path: Path) -> None:
    done = run(interpreter("2.7.1"), "hsdp", tmp_path)
    assert done.code != 0
    assert "Cannot use ReduceOp.AVG with Gloo" in done.err
    assert rows(tmp_path) == []
