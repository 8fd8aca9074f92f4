"""Under torchrun: ranks that cannot be one group say so and end before the first collective."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT

pytestmark = pytest.mark.run

SCRIPT = """
import os
from datetime import timedelta
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from specc.parts.start import join

@record
def main():
    RANK = os.environ["RANK"]
    EXTRA
    join("toy", "gloo", torch.device("cpu"), {"dp": DP, "cp": 2}, timedelta(seconds=20), __file__)
    total = torch.ones(())
    dist.all_reduce(total)
    open(f"joined_{RANK}", "w").write(str(total.item()))
    dist.barrier()
    dist.destroy_process_group()

main()
"""


def write(path: Path, *, dp: int = 1, extra: str = "pass") -> Path:
    path.write_text(SCRIPT.replace("DP", str(dp)).replace("EXTRA", extra), encoding="utf-8")
    return path


def torchrun(
    folder: Path, script: str, *options: str, ranks: int = 2, seconds: float = 90
) -> tuple[int, str]:
    """Exit code and all output of a script under torchrun, in `folder`."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *(f"--nproc-per-node={ranks}", *options, script),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_world_that_is_needed_trains(tmp_path: Path) -> None:
    write(tmp_path / "toy.py")

    code, output = torchrun(tmp_path, "toy.py")

    assert code == 0, output
    assert [(tmp_path / f"joined_{rank}").read_text() for rank in (0, 1)] == ["2.0", "2.0"]


def test_a_wrong_world_is_said_once_by_ranks_that_all_end(tmp_path: Path) -> None:
    write(tmp_path / "toy.py", dp=4)

    code, output = torchrun(tmp_path, "toy.py")

    assert code != 0
    assert output.count("toy needs 8 ranks (dp=4 x cp=2), torchrun started 2") == 1, output
    codes = re.findall(r"exitcode  : (-?\d+)", output)  # of both ranks, or of the first to end
    assert codes, output
    assert "0" not in codes, output
    assert not list(tmp_path.glob("joined_*"))


def test_ranks_with_different_texts_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "toy0.py")
    write(tmp_path / "toy1.py", extra="'an edit on one node only'")
    (tmp_path / "start.py").write_text(
        "import os, runpy; runpy.run_path(f'toy{os.environ[\"RANK\"]}.py', run_name='__main__')",
        encoding="utf-8",
    )

    code, output = torchrun(tmp_path, "start.py")

    assert code != 0
    assert output.count("toy: the ranks do not run the same program") == 1, output
    assert re.search(r"script: \w{12} on rank 0 of \S+; \w{12} on rank 1 of", output)
    assert not list(tmp_path.glob("joined_*"))


def test_a_rank_that_does_not_come_is_named(tmp_path: Path) -> None:
    sleep = "import time; time.sleep(50 * (RANK == '1'))"
    script = write(tmp_path / "toy.py", extra=sleep)
    script.write_text(script.read_text().replace("seconds=20", "seconds=3"), encoding="utf-8")

    code, output = torchrun(tmp_path, "toy.py")

    assert code != 0
    assert re.search(r"toy: no answer within 3 s from rank 1 of \S+", output), output
    assert not list(tmp_path.glob("joined_*"))


def test_a_restarted_job_joins_again(tmp_path: Path) -> None:
    die = "os.environ['TORCHELASTIC_RESTART_COUNT'] == '0' and RANK == '1' and os._exit(9)"
    script = write(tmp_path / "toy.py")
    text = script.read_text().replace("    dist.barrier()", f"    {die}\n    dist.barrier()")
    script.write_text(text, encoding="utf-8")

    code, output = torchrun(tmp_path, "toy.py", "--max-restarts=1")

    assert code == 0, output
    assert (tmp_path / "joined_1").read_text() == "2.0"
