"""A progress bar for `specc run`: it watches the records that the text's `train` yields."""

import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from types import ModuleType
from typing import Any, TextIO, cast

DRAW_S = 0.1
LOSS_S = 1.0  # reading the loss waits for the device
ERASE = "\r\x1b[2K"


@contextmanager
def show_progress(
    module: ModuleType, stream: TextIO, *, enabled: bool
) -> Generator[None, None, None]:
    """Draw a bar on `stream` while the module trains; on anything but a terminal, nothing.

    The module's `train` is replaced by one that yields the same records, so the training is the
    same with and without a bar. Lines that the module prints appear above the bar.
    """
    if not (enabled and stream.isatty()):
        yield
        return
    bar = Bar(module.STEPS, stream)
    vars(module)["train"] = _watched(module.train, bar)
    with redirect_stdout(cast("TextIO", _Above(sys.stdout, bar))):
        try:
            yield
        finally:
            bar.erase()


class Bar:
    """One line that is redrawn in place.

    Args:
        total: number of steps of the whole training.
        stream: a terminal.
    """

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total = total
        self._stream = stream
        self._began: tuple[float, int] | None = None
        self._loss: float | None = None
        self._loss_read = self._drawn = float("-inf")
        self._line = ""
        self._is_shown = False

    def advance(self, row: dict[str, Any]) -> None:
        """Take the record of a finished step."""
        now, done = time.perf_counter(), row["step"] + 1
        if self._began is None:
            self._began = (now, done)  # the first step compiles: the rate leaves it out
        is_last = done >= self._total
        if "loss" in row and (is_last or now - self._loss_read >= LOSS_S):
            self._loss, self._loss_read = float(row["loss"]), now
        if is_last or now - self._drawn >= DRAW_S:
            self._drawn = now
            self._line = render(
                done, self._total, self._loss, self._rate(now, done), _width(self._stream)
            )
            self.draw()

    def draw(self) -> None:
        """Draw the line anew."""
        self._stream.write(ERASE + self._line)
        self._stream.flush()
        self._is_shown = True

    def erase(self) -> None:
        """Leave the line empty, the cursor at its beginning; nothing if it is not shown."""
        if self._is_shown:
            self._stream.write(ERASE)
            self._stream.flush()
        self._is_shown = False

    def _rate(self, now: float, done: int) -> float | None:
        began, first = self._began or (now, done)
        return (done - first) / (now - began) if done > first and now > began else None


def render(done: int, total: int, loss: float | None, rate: float | None, width: int) -> str:
    """The bar as text of at most `width` columns; the bar itself gives way first.

    Args:
        rate: steps a second.
    """
    head = f"step {done}/{total} {100 * done // max(total, 1):3d}%"
    facts = [f"loss {loss:.4f}"] if loss is not None else []
    if rate:
        facts += [f"{rate:.3g} steps/s", f"{_clock((total - done) / rate)} left"]
    tail = "  ".join(facts)
    room = min(40, width - len(head) - len(tail) - 6)
    if room < 5:
        return f"{head}  {tail}"[:width].rstrip()
    filled = min(room, room * done // max(total, 1))
    return f"{head} [{'#' * filled}{'-' * (room - filled)}]  {tail}".rstrip()


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def _width(stream: TextIO) -> int:
    return shutil.get_terminal_size().columns - 1 if stream.isatty() else 79


def _watched(
    train: Callable[..., Iterator[dict[str, Any]]], bar: Bar
) -> Callable[..., Generator[dict[str, Any], None, None]]:
    def watched(*args: object, **kwargs: object) -> Generator[dict[str, Any], None, None]:
        for row in train(*args, **kwargs):
            bar.advance(row)
            yield row

    return watched


class _Above:
    """Standard output while a bar is shown: lines come out above it."""

    def __init__(self, stream: TextIO, bar: Bar) -> None:
        self._stream = stream
        self._bar = bar

    def write(self, text: str) -> int:
        self._bar.erase()
        written = self._stream.write(text)
        self._stream.flush()
        if text.endswith("\n"):
            self._bar.draw()
        return written

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  flush, isatty, encoding, ...
        return getattr(self._stream, name)
