"""A metrics file becomes a PNG image, or a message says why not."""

import json
import sys
from pathlib import Path

import pytest

from specc.diagnostics import SpeccError
from specc.runtime.plot import plot_metrics, read_metrics


def write(path: Path, *rows: dict[str, float] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_the_image_is_a_png_whatever_it_is_called(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    metrics = write(
        tmp_path / "run.jsonl",
        {"step": 0, "loss": 5.5},
        {"step": 1, "loss": 4.5, "held_out_loss": 4.9},
    )
    plot_metrics(metrics, tmp_path / "folder" / "curve")
    assert (tmp_path / "folder" / "curve").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_step_that_was_trained_again_counts_as_trained_last(tmp_path: Path) -> None:
    metrics = write(
        tmp_path / "run.jsonl",
        {"step": 0, "loss": 5.0},
        {"step": 1, "loss": 4.0},
        {"step": 1, "loss": 4.5, "restart": 1},
        {"step": 2, "loss": 3.0, "restart": 1},
    )
    losses = {step: row["loss"] for step, row in read_metrics(metrics).items()}
    assert losses == {0: 5.0, 1: 4.5, 2: 3.0}


def test_half_a_line_at_the_end_is_a_run_that_goes_on(tmp_path: Path) -> None:
    metrics = write(tmp_path / "run.jsonl", {"step": 0, "loss": 5.0}, '{"step": 1, "lo')
    assert list(read_metrics(metrics)) == [0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((), "holds no step yet"),
        (('{"step": 0',), "holds no step yet"),
        (({"step": 0},), "holds no step yet"),
        (("no json", {"step": 0, "loss": 1.0}), "run.jsonl:1 is no record of a step: no json"),
        (("[1]", {"step": 0, "loss": 1.0}), "run.jsonl:1 is no record"),
    ],
)
def test_a_file_without_records_is_refused(
    tmp_path: Path, rows: tuple[dict[str, float] | str, ...], message: str
) -> None:
    with pytest.raises(SpeccError, match=message):
        read_metrics(write(tmp_path / "run.jsonl", *rows))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpeccError, match=r"cannot be read: .*No such file"):
        read_metrics(tmp_path / "nothing.jsonl")


def test_without_matplotlib_the_message_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpeccError, match=r'pip install "specc\[plot\]"'):
        plot_metrics(tmp_path / "run.jsonl", tmp_path / "curve.png")
