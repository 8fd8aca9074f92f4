"""Verbs that execute nothing never import torch, and each imports only what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT

PROBE = """
import contextlib, io, json, sys
from specc.cli import main
out = io.StringIO()
with contextlib.redirect_stdout(out):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]))
"""


def imported(arguments: list[str], folder: Path) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, names = json.loads(done.stdout.splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "tinyllm.spec"],
        ["fmt", "--check", "tinyllm.spec"],
        ["emit", "tinyllm.spec"],
        ["emit", "longctx.spec"],
        ["run", "tinyllm.spec", "--emit", "script"],
        ["run", "tinyllm.spec", "--target", "cpu", "--dry-run"],
        ["build", "tinyllm.spec", "--print", "tree"],
        ["build", "tinyllm.spec", "--print", "program"],
        ["build", "tinyllm.spec", "--print", "plan"],
        ["build", "tinyllm.spec", "--print", "script"],
        ["graph", "tinyllm.spec"],
        ["explain", "E0204"],
        ["explain", "--values", "tinyllm.spec"],
        ["init", "ddp"],
    ],
    ids=" ".join,
)
def test_torch_and_jinja_stay_away(arguments: list[str], specs: Path) -> None:
    code, names = imported(arguments, specs)

    assert code == 0
    assert not names & {"torch", "numpy", "jinja2", "torch_musa"}


def test_a_job_file_needs_jinja_and_no_torch(specs: Path) -> None:
    code, names = imported(["emit", "longctx.spec", "--launcher", "slurm"], specs)

    assert code == 0
    assert "jinja2" in names
    assert "torch" not in names


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["init", "ddp"]], ids=" ".join)
def test_what_reads_no_spec_needs_no_parser(arguments: list[str], folder: Path) -> None:
    code, names = imported(arguments, folder)

    assert code == 0
    assert "lark" not in names


def test_the_package_alone_is_light(folder: Path) -> None:
    code = "import sys, specc; assert not {'lark', 'attrs', 'torch'} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
