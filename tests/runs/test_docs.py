"""Python on the pages that says it can be run, runs: the API as somebody would first try it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.repository import ROOT
from tests.unit.docs.markdown import Block, all_blocks

RUN = [b for b in all_blocks("python") if "run" in b.words]


@pytest.mark.run
@pytest.mark.parametrize("block", [pytest.param(b, id=b.place) for b in RUN])
def test_python_on_a_page_runs(block: Block) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block.text],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
