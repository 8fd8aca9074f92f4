"""The bar shows where a training stands, and changes neither its records nor what it prints."""

import io
import sys
from types import ModuleType
from typing import Any

import pytest

from specc.runtime.progress import ERASE, render, show_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def module_with(rows: list[dict[str, Any]]) -> ModuleType:
    module = ModuleType("a_text")
    vars(module).update(STEPS=len(rows), train=lambda *_args, **_kwargs: iter(rows))
    return module


def train(module: ModuleType) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row in module.train(None, None, None, start=0):
        print("log line", row["step"])
        found.append(row)
    return found


ROWS = [{"step": step, "loss": 5.0 - step} for step in range(3)]


def test_the_bar_watches_the_records_and_leaves_nothing_behind() -> None:
    module, terminal = module_with(ROWS), Terminal()
    with show_progress(module, terminal, enabled=True):
        assert train(module) == ROWS
    shown = terminal.getvalue()
    assert "step 3/3 100%" in shown
    assert "loss 3.0000" in shown
    assert shown.endswith(ERASE)


def test_lines_appear_whole_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()  # standard output and standard error are the same terminal
    monkeypatch.setattr(sys, "stdout", screen)
    module = module_with(ROWS)
    with show_progress(module, screen, enabled=True):
        train(module)
    visible = [line.rpartition(ERASE)[2] for line in screen.getvalue().split("\n")]
    assert visible == ["log line 0", "log line 1", "log line 2", ""]


@pytest.mark.parametrize(("stream", "enabled"), [(io.StringIO(), True), (Terminal(), False)])
def test_without_a_terminal_or_a_wish_there_is_no_bar(stream: io.StringIO, enabled: bool) -> None:
    module = module_with(ROWS)
    before = module.train
    with show_progress(module, stream, enabled=enabled):
        assert module.train is before
        assert train(module) == ROWS
    assert stream.getvalue() == ""


def test_a_failing_training_leaves_a_clean_line() -> None:
    def broken(*_args: object) -> Any:
        yield ROWS[0]
        raise ValueError("boom")

    module, terminal = module_with(ROWS), Terminal()
    vars(module)["train"] = broken
    with pytest.raises(ValueError, match="boom"), show_progress(module, terminal, enabled=True):
        list(module.train(None, None, None))
    assert terminal.getvalue().endswith(ERASE)


def test_a_line_shows_position_loss_speed_and_time_left() -> None:
    assert render(100, 400, 3.21, 5.0, 100) == (
        "step 100/400  25% [##########------------------------------]"
        "  loss 3.2100  5 steps/s  1:00 left"
    )


def test_a_long_training_shows_hours() -> None:
    assert "2:46:40 left" in render(0, 10_000, None, 1.0, 200)


@pytest.mark.parametrize("width", range(1, 120))
def test_a_line_is_never_wider_than_the_terminal(width: int) -> None:
    assert len(render(123, 50_000, 3.21, 4.987, width)) <= width
