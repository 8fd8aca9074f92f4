"""Local ranks start, and end together, and the first cause is told."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from specc.runtime.launch import collect, describe, launch
from tests.repository import ROOT

Finish = Callable[[str, int], tuple[int, str, str]]

pytestmark = [pytest.mark.run, pytest.mark.timeout(120)]

LAUNCH = """
import sys
from specc.runtime.launch import launch
command = [sys.executable, "-m", "tests.runs.worker", *sys.argv[1:3]]
sys.exit(launch(command, 2, log_dir=sys.argv[3]))
"""
END_S = 15  # within which all ranks must be gone; the agent looks every 0.1 s, the machine is slow


@contextmanager
def launched(what: str, who: int, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", LAUNCH, what, str(who), str(folder)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Finish:
    """Launch two ranks from this process: exit code, standard output and error."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def launch_here(what: str, who: int) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "tests.runs.worker", what, str(who)]
        code = launch(command, 2, env={"EXTRA": "set"}, log_dir=str(tmp_path))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return launch_here


def ranks_of(folder: Path) -> set[int]:
    """Processes whose environment names the log folder of a launch."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes()
        except OSError:
            continue
        if f"TORCHELASTIC_ERROR_FILE={folder}".encode() in environ:
            found.add(int(entry.name))
    return found


def wait_until_gone(folder: Path) -> float:
    began = time.monotonic()
    while ranks_of(folder) and time.monotonic() - began < END_S:
        time.sleep(0.1)
    return time.monotonic() - began


def read_until(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    pytest.fail(f"the run ended without {text!r}")


def test_ranks_train_together_and_only_the_first_one_speaks(tmp_path: Path, finish: Finish) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    code, out, err = finish("nothing", 0)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        *(f"rank 0: step {step}, 2 ranks" for step in range(5)),
        "threads 1 extra set",
    ]
    (log,) = tmp_path.glob("*/attempt_0/1/stdout.log")
    assert "rank 1: step 4, 2 ranks" in log.read_text()
    assert signal.getsignal(signal.SIGTERM) == handler
    assert "EXTRA" not in os.environ


def test_the_exception_of_a_rank_is_the_first_cause(tmp_path: Path, finish: Finish) -> None:
    code, _, err = finish("raise", 1)
    assert code == 4
    assert err.startswith("rank 1 of 2 failed: ValueError: five does not divide 64\n")
    assert 'raise ValueError("five does not divide 64")' in err  # the line of the text
    assert "specc/runtime" not in err
    assert err.count("Traceback") == 1
    assert str(tmp_path) in err


def test_a_refusal_to_start_is_told_without_a_traceback(finish: Finish) -> None:
    code, _, err = finish("refuse", 1)
    assert code == 4
    assert err.startswith("rank 1 of 2 failed: tiny needs 16 ranks, not 2\n")
    assert "Traceback" not in err


@pytest.mark.parametrize("who", [0, 1])
def test_a_killed_rank_is_the_first_cause(finish: Finish, who: int) -> None:
    code, _, err = finish("die", who)
    assert code == 4
    assert err.startswith(f"rank {who} of 2 failed: killed by SIGKILL")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_ranks_even_in_a_collective(
    tmp_path: Path, number: signal.Signals
) -> None:
    with launched("hang", 1, tmp_path) as process:
        read_until(process, "step 1")
        assert len(ranks_of(tmp_path)) == 2
        began = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert time.monotonic() - began < END_S
        assert process.returncode == 4
    assert err.startswith("stopped by " + {2: "Ctrl-C", 15: "SIGTERM"}[number])
    assert "Traceback" not in err
    assert ranks_of(tmp_path) == set()


def test_ranks_end_when_their_agent_is_killed(tmp_path: Path) -> None:
    with launched("hang", 1, tmp_path) as process:
        read_until(process, "step 1")
        assert len(ranks_of(tmp_path)) == 2
        process.kill()
    assert wait_until_gone(tmp_path) < END_S


def run_alone(what: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.runs.worker", what, "0"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_one_rank_needs_no_agent() -> None:
    done = run_alone("nothing")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rank 0: step 4, 1 ranks" in done.stdout


def test_alone_an_exception_shows_the_frames_of_the_text() -> None:
    done = run_alone("raise")
    assert done.returncode == 4
    assert 'raise ValueError("five does not divide 64")' in done.stderr
    assert "specc/runtime" not in done.stderr


def recorded(folder: Path, rank: int, message: str, when_ns: int) -> Path:
    file = folder / "run_1" / "attempt_0" / str(rank) / "error.json"
    file.parent.mkdir(parents=True)
    extra = {"py_callstack": message, "timestamp": "7", "monotonic_ns": str(when_ns)}
    file.write_text(json.dumps({"message": {"message": message, "extraInfo": extra}}))
    return file


def test_a_rank_that_the_agent_missed_is_the_first_cause(tmp_path: Path) -> None:
    """Older agents stop looking once one rank has ended, and seconds do not tell who was first."""
    noticed = recorded(tmp_path, 0, "RuntimeError: Connection closed by peer", 1)
    recorded(tmp_path, 1, "ValueError: five does not divide 64", 2)
    recorded(tmp_path, 2, "ValueError: later", 3)
    error = ChildFailedError("text", {0: ProcessFailure(0, 1, 1, str(noticed))})
    failures = collect(error, 4, tmp_path)
    assert [failure.rank for failure in failures] == [1, 2, 0]
    assert describe(failures, 4, tmp_path).splitlines() == [
        "rank 1 of 4 failed: ValueError: five does not divide 64",
        "then rank 2: ValueError: later",
        "then rank 0: RuntimeError: Connection closed by peer",
        f"logs of other ranks: {tmp_path}",
    ]


def test_a_rank_that_wrote_nothing_down_is_told_by_its_log(tmp_path: Path) -> None:
    log = tmp_path / "run_1" / "attempt_0" / "1" / "stderr.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    error = ChildFailedError("text", {1: ProcessFailure(1, 1, 3, str(log.with_name("error.json")))})
    (failure,) = collect(error, 2, tmp_path)
    assert (failure.rank, failure.summary) == (1, "exit code 3")
    assert failure.details.splitlines() == [f"line {number}" for number in range(80, 100)]
    assert str(log) in describe([failure], 2, tmp_path)
