"""Draws the loss curve of a metrics file as a PNG image; needs the extra `specc[plot]`."""

import importlib
import json
from pathlib import Path
from typing import Any

from specc.diagnostics import SpeccError


def plot_metrics(metrics: Path, image: Path) -> None:
    """Draw loss, and held-out loss where there is one, over the steps.

    Args:
        metrics: one line of JSON a step, as `--metrics` writes it. A step that was trained again
            after a restart counts as it was trained last.
        image: the PNG file.

    Raises:
        SpeccError: matplotlib is not installed, or there is nothing to draw.
    """
    figure_class = _figure_class()
    rows = read_metrics(metrics)
    figure = figure_class(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(list(rows), [row["loss"] for row in rows.values()], linewidth=1, label="training")
    held_out = {step: row["held_out_loss"] for step, row in rows.items() if "held_out_loss" in row}
    if held_out:
        axes.plot(list(held_out), list(held_out.values()), marker="o", label="held out")
        axes.legend()
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.grid(alpha=0.3)
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image, format="png", dpi=150)


def read_metrics(path: Path) -> dict[int, dict[str, float]]:
    """The records of a metrics file by step, in the order of the steps.

    Raises:
        SpeccError: the file cannot be read, holds a line that is no record, or no record at all.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpeccError(f"{path} cannot be read: {error}") from None
    parsed = [_record(line) for line in lines]
    if parsed and parsed[-1] is None:
        parsed.pop()  # a run that goes on, or was killed, while it wrote
    if None in parsed:
        number = parsed.index(None) + 1
        raise SpeccError(f"{path}:{number} is no record of a step: {lines[number - 1][:60]}")
    rows = {int(row["step"]): row for row in parsed if row is not None}
    if not rows:
        raise SpeccError(f"{path} holds no step yet: train with `--metrics {path}`")
    return dict(sorted(rows.items()))


def _record(line: str) -> dict[str, float] | None:
    """The record on a line that has a step and a loss."""
    try:
        row = json.loads(line)
        return {**row, "step": int(row["step"]), "loss": float(row["loss"])}
    except (ValueError, KeyError, TypeError):
        return None


def _figure_class() -> Any:  # noqa: ANN401  matplotlib is optional
    try:
        return importlib.import_module("matplotlib.figure").Figure
    except ImportError:
        raise SpeccError('a plot needs matplotlib: pip install "specc[plot]"') from None
