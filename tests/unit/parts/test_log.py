"""Records keep every digit, are whole lines, and wait for the device only when a line is due."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from specc.parts.log import Log


def row(step: int, **more: Any) -> dict[str, Any]:
    figures = {"loss": torch.tensor(1 / 3), "grad_norm": torch.tensor(2.5), "lr": 1e-4 / 3}
    return {"step": step, **figures, "tokens": 1000, **more}


def records(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


class Unread:
    """Stands for a value on the device that nobody may wait for."""

    def __float__(self) -> float:
        raise AssertionError("was read")


def test_a_record_keeps_every_digit(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    Log(0, str(path), every=10)(row(0, held_out_loss=torch.tensor(0.1), weights="3f9a"))

    (record,) = records(path)
    assert list(record) == [
        *("step", "loss", "grad_norm", "lr", "tokens", "held_out_loss", "weights", "step_s")
    ]
    assert record["loss"] == torch.tensor(1 / 3).item()
    assert record["lr"] == 1e-4 / 3
    assert record["held_out_loss"] == torch.tensor(0.1).item()
    assert (record["step"], record["tokens"], record["weights"]) == (0, 1000, "3f9a")


def test_every_step_has_a_line_with_its_own_time(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "m.jsonl"
    log = Log(0, str(path), every=10)
    for step, seconds in enumerate((0.0, 0.2, 0.0)):
        time.sleep(seconds)
        log(row(step))

    assert [record["step"] for record in records(path)] == [0, 1, 2]
    times = [record["step_s"] for record in records(path)]
    assert times[1] >= 0.2 > max(times[0], times[2])


def test_only_rank_0_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(1, str(tmp_path / "m.jsonl"), every=1)
    log(row(0, loss=Unread()))
    log.summary()

    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().out == ""


def test_without_a_file_tensors_are_read_only_for_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = Log(0, None, every=10)
    log(row(0))
    for step in range(1, 10):
        log(row(step, loss=Unread()))
    with pytest.raises(AssertionError, match="was read"):
        log(row(10, loss=Unread()))

    assert len(capsys.readouterr().out.splitlines()) == 1


def test_people_read_the_figures_and_the_speed_since_their_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(0, str(tmp_path / "m.jsonl"), every=2)
    for step in range(3):
        time.sleep(0.05)
        log(row(step))

    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("step 0: loss 0.3333, norm 2.500, lr 3.33e-05, ")
    assert second.startswith("step 2: loss 0.3333, ")
    assert second.endswith(" tokens/s")
    speed = float(second.split(", ")[-1].removesuffix(" tokens/s").replace(",", ""))
    assert 2000 < speed <= 1000 / 0.05


def test_samples_and_held_out_losses_are_named_as_such(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Log(0, None, every=1)({"step": 1234, "loss": 2.0, "held_out_loss": 3.0, "samples": 32})

    line = capsys.readouterr().out
    assert line.startswith("step 1,234: loss 2.0000, held out 3.0000, ")
    assert line.endswith(" samples/s\n")


def test_lines_of_later_trainings_in_one_file_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    for _ in range(3):
        log = Log(0, str(path), every=10)
        log(row(0))
        log(row(1))

    assert [record.get("restart") for record in records(path)] == [None, None, 1, 1, 2, 2]


def test_the_summary_leaves_the_warmup_out(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(0, None, every=100, warmup=2)
    for step, seconds in enumerate((0.3, 0.0, 0.05, 0.05)):
        time.sleep(seconds)
        log(row(step))
    log.summary()

    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("4 steps, loss 0.3333; 0.0")
    assert line.endswith(" tokens/s in the last 2")


def test_a_training_that_ends_in_its_warmup_has_no_speed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = Log(0, None, every=100, warmup=2)
    log(row(1))
    log(row(2))
    log.summary()

    assert capsys.readouterr().out == "2 steps, loss 0.3333\n"


def test_a_file_that_cannot_be_written_is_said_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="Is a directory, so no record can be written"):
        Log(0, str(tmp_path), every=1)
