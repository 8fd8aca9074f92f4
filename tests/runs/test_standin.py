"""The stand-in musa device trains as the host does, and refuses what a real node refuses."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.repository import ROOT
from tests.standin.build import UNITS, MissingCompilerError, environment

# The first build takes a minute on a machine of its own, several on a busy one.
pytestmark = [pytest.mark.run, pytest.mark.timeout(900)]

RUN_S = 240
NAMES = json.loads((ROOT / "tests/standin/torch_musa/names.json").read_text())
VERSIONS = ("2.9.1.post1", "2.7.1")

# FP32 sums of two ranks in another order: a few units in the last place of 2**-24 for each step.
RELATIVE = 1e-6


def standin(musa: str = "2.9.1.post1") -> dict[str, str]:
    """The environment of the stand-in, or a skip that says why there is none."""
    try:
        return environment(musa)
    except MissingCompilerError as missing:
        pytest.skip(str(missing))


def two_ranks(folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """What rank 0 of two found."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "tests.standin.ranks", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**variables, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "found.json").read_text())


@pytest.fixture(scope="module")
def on_musa(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return two_ranks(tmp_path_factory.mktemp("musa"), standin())


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    variables = {**os.environ, "STANDIN_DEVICE": "cpu"}
    return two_ranks(tmp_path_factory.mktemp("cpu"), variables)


def test_parameters_are_on_the_device_of_the_rank(on_musa: dict[str, Any]) -> None:
    assert on_musa["devices"] == ["musa:0"]
    assert on_musa["peak_bytes"] > 0


@pytest.mark.parametrize("figure", ["losses", "norms"])
def test_training_gives_the_figures_of_the_host(
    figure: str, on_musa: dict[str, Any], on_cpu: dict[str, Any]
) -> None:
    assert on_musa[figure] == pytest.approx(on_cpu[figure], rel=RELATIVE)


def test_training_sends_what_the_host_sends(
    on_musa: dict[str, Any], on_cpu: dict[str, Any]
) -> None:
    assert on_musa["collectives"] == on_cpu["collectives"]


def test_a_checkpoint_comes_back(on_musa: dict[str, Any]) -> None:
    assert on_musa["checkpoint"]


def test_collectives_give_what_mccl_gives(on_musa: dict[str, Any]) -> None:
    assert on_musa["results"] == {
        "avg": [1.5, 3.0],
        "avg of int": [4],
        "sum of bool": [True, True],
        "reduce-scatter avg": [0.0, 1.0],
        "all-to-all of a list": [[0.0], [10.0]],
        "all-to-all gradient": [0.0, 1.0, 0.0, 1.0],
        "sum of cpu tensors": [2.0],
    }


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("unknown name", "AttributeError"),
        ("device beyond the node", "RuntimeError: MUSA error: invalid device ordinal"),
        ("premul sum", "RuntimeError: Unexpected ReduceOp"),
        ("band", "RuntimeError: Unexpected ReduceOp"),
        ("avg of bool", "TypeError: Cannot use ReduceOp.AVG"),
        ("int16", "TypeError: Unconvertible MCCL type"),
        ("other device", "RuntimeError: Tensor found on device musa:7"),
        ("cpu tensor", "RuntimeError: No backend type associated with device type cpu"),
        ("not contiguous", "RuntimeError: Tensors must be contiguous"),
        ("fused AdamW", "RuntimeError: aten::_fused_adamw_ is not implemented on MUSA"),
        ("bf16 logits", "RuntimeError: aten::nll_loss_forward on MUSA supports Float32 only"),
        ("mask and causal", "RuntimeError: Explicit attn_mask should not be set"),
        ("forgotten host tensor", "RuntimeError: Expected all tensors to be on the same device"),
        ("host generator", "RuntimeError: Expected a 'musa' device type for generator"),
        ("not simulated", "NotImplementedError: torch.musa.graph exists in torch_musa"),
    ],
)
def test_what_a_node_refuses_is_refused(call: str, error: str, on_musa: dict[str, Any]) -> None:
    assert on_musa["refused"][call].startswith(error)


# A compiler that is slow, says that it ran, and makes an empty file.
COMPILER = """#!/bin/sh
echo run >> "$COMPILER_LOG"
sleep 1
while [ "$1" != -o ]; do shift; done
: > "$2"
"""


def test_two_processes_build_once(tmp_path: Path) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    log = tmp_path / "log"
    variables = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path),
        "COMPILER_LOG": str(log),
    }
    command = [sys.executable, "tests/standin/build.py"]
    builds = [
        subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    paths = {build.communicate(timeout=RUN_S)[0].split()[-3] for build in builds}

    assert log.read_text().count("run") == len(UNITS) + 1  # and one to link
    assert [Path(path).is_file() for path in paths] == [True]


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    variables = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "tests/standin/build.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=RUN_S, check=False
    )

    assert done.returncode == 1
    assert done.stderr == "the stand-in musa device needs g++, which is not on the PATH\n"


@pytest.mark.parametrize("musa", VERSIONS)
def test_torch_musa_has_the_names_of_its_version(musa: str) -> None:
    program = "import torch, torch_musa; print([n for n in dir(torch.musa) if n[0] != '_'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=standin(musa),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=True,
    )

    assert done.stdout.strip() == str(sorted(NAMES[musa]["torch.musa"]))


def fake_ranks(*arguments: str) -> dict[int, list[dict[str, Any]]]:
    """The collectives of some ranks of a cluster that is not there."""
    command = [sys.executable, "-m", "tests.standin.fake", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["rank"]: line["collectives"] for line in lines}


def test_a_fake_rank_sends_what_a_real_one_sends(on_musa: dict[str, Any]) -> None:
    script = "tests/standin/training.py"
    found = fake_ranks(script, "--rank=0", "--world-size=2", "--gpus-per-node=2")

    assert found == {0: on_musa["collectives"]}


def test_ranks_of_both_nodes_send_the_same() -> None:
    settings = ["--set=DP=4", "--set=CP=4", "--set=STEPS=1"]
    ranks = ["--rank=0", "--rank=8", "--rank=15"]
    found = fake_ranks("tests/standin/training.py", *ranks, *settings)

    # Two all-to-alls of each of the two blocks, forward and backward.
    ulysses = {"kind": "all_to_all", "axis": "cp", "dtype": "float32"}
    sent = [row for row in found[0] if row["kind"] == "all_to_all"]
    tokens = 32 // 4
    assert sent == [
        ulysses | {"bytes": 4 * tokens * 32, "count": 4},
        ulysses | {"bytes": 4 * tokens * 3 * 32, "count": 4},
    ]
    assert found[0] == found[8] == found[15]
