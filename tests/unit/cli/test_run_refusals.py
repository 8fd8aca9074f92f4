"""`specc run` before anything trains: what it refuses, and what it prints instead."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from specc.cli import opening
from tests.checking import run_cli
from tests.unit.cli.conftest import FAULTY


def test_errors_stop_a_run(folder: Path) -> None:
    (folder / "bad.spec").write_text(FAULTY)
    code, out, err = run_cli(["run", "bad.spec"])

    assert (code, out) == (1, "")
    assert err.startswith("error[E0204]")


def test_more_ranks_than_the_machine_can_hold_are_refused(specs: Path) -> None:
    code, out, err = run_cli(["run", "longctx.spec", "--target", "cpu"])

    assert (code, out) == (3, "")
    assert "error: 16 ranks; here " in err
    assert "try `--profile smoke`, or `--emit script`" in err


def test_more_memory_than_the_machine_has_is_refused(specs: Path) -> None:
    code, _, err = run_cli(["run", "tinyllm.spec", "--target", "cpu", "--set", "d=64K"])

    assert code == 3
    assert " GiB" in err


def test_there_must_be_something_to_resume(sound: Path) -> None:
    code, out, err = run_cli(["run", "--resume"])

    assert (code, out) == (2, "")
    assert err == "error: there is nothing to resume: the spec has no `save { .. }` in `train`\n"


def test_a_file_behind_resume_is_the_spec(sound: Path) -> None:
    code, _, err = run_cli(["run", "--resume", "run.spec"])

    assert code == 2
    assert "there is nothing to resume" in err


def test_only_the_first_rank_speaks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bad.spec").write_text(FAULTY)
    monkeypatch.setattr(opening, "SILENT_S", 0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    told: list[str] = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        code, out, err = run_cli(["run", "bad.spec"])
        assert (code, out) == (1, "")
        told.append(err)

    assert told[0].startswith("error[E0204]")
    assert told[1] == ""


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-o", "x.py"], "`-o` belongs to `--emit`"),
        (["--emit", "script", "--metrics", "m"], "`--emit` trains nothing"),
        (["--emit", "script", "--dry-run"], "`--emit` trains nothing"),
    ],
)
def test_flags_that_do_not_go_together(sound: Path, flags: list[str], told: str) -> None:
    code, out, err = run_cli(["run", *flags])

    assert (code, out) == (2, "")
    assert told in err


def test_the_script_is_that_of_emit(sound: Path) -> None:
    assert run_cli(["run", "--emit", "script", "--target", "cuda"]) == run_cli(
        ["emit", "--target", "cuda"]
    )


def test_the_job_file_is_that_of_emit(specs: Path) -> None:
    assert run_cli(["run", "longctx.spec", "--emit", "slurm", "-o", "a.sh"])[0] == 0
    _, out, _ = run_cli(["emit", "longctx.spec", "--launcher", "slurm"])

    assert (specs / "a.sh").read_text() == out


def test_launch_lines_of_every_node(specs: Path) -> None:
    code, out, _ = run_cli(["run", "longctx.spec", "--dry-run", "--set", "train.steps = 10"])
    lines = [shlex.split(line) for line in out.splitlines()]
    command = ["specc", "run", "longctx.spec", "--target", "musa", "--set", "train.steps = 10"]

    assert code == 0
    assert [line[2] for line in lines] == ["--node-rank=0", "--node-rank=1"]
    assert all(line[0] == "torchrun" for line in lines)
    assert all(line[line.index("-m") + 1 :] == command for line in lines)


def test_launch_lines_of_one_node(sound: Path) -> None:
    _, out, _ = run_cli(["run", "--dry-run", "--target", "cpu", "--ranks", "4"])

    assert out == "torchrun --standalone --nproc-per-node=4 -m specc run run.spec --target cpu\n"


@pytest.mark.parametrize(
    ("arguments", "ranks"),
    [
        (["longctx.spec", "--target", "cpu", "--profile", "smoke"], 4),  # not the cluster's 16
        (["tinyllm.spec", "--target", "cpu"], 2),
        (["tinyllm.spec", "--target", "musa"], 2),  # no device is here, and none is needed
    ],
)
def test_an_open_mesh_takes_the_ranks_of_this_machine(
    specs: Path, arguments: list[str], ranks: int
) -> None:
    code, out, _ = run_cli(["run", *arguments, "--dry-run"])

    assert code == 0
    assert f" --nproc-per-node={ranks} " in out
    assert out.count("\n") == 1


def test_a_target_that_is_not_here_is_told_with_a_way_out(specs: Path) -> None:
    code, out, err = run_cli(["run", "longctx.spec"])

    assert (code, out) == (3, "")
    assert "Traceback" not in err
    assert "error: target musa cannot be used here: " in err
    assert err.endswith("`specc doctor --target musa` looks at all of it\n")


def test_the_doctor_knows_the_targets() -> None:
    code, out, err = run_cli(["doctor", "--target", "cdua"])

    assert (code, out) == (2, "")
    assert err == "error: unknown target `cdua`; did you mean `cuda`?\n"
