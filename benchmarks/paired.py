"""Measures variants of one thing in turn: whatever else the machine does meets all alike."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 7  # that count; one more comes before them


@attrs.frozen
class Series:
    """Seconds of one variant in every round that counts."""

    name: str
    seconds: tuple[float, ...]

    @property
    def minimum(self) -> float:
        """The least of them."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)


def paired(variants: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> tuple[Series, ...]:
    """Every variant once a round, each round starting with another; the first round is discarded.

    Args:
        variants: by name; a call does the work and returns its seconds.
    """
    names = list(variants)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            seconds = variants[name]()
            if number:
                found[name].append(seconds)
    return tuple(Series(name, tuple(seconds)) for name, seconds in found.items())


def clocked(work: Callable[[], object]) -> Callable[[], float]:
    """The work as a variant: CPU seconds of this process, which other processes disturb little."""

    def run() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return run


def child_cpu_seconds(command: Sequence[str], folder: Path = ROOT) -> float:
    """User and system time of a process and its children.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    before = os.times()
    subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def environment() -> dict[str, str]:
    """This checkout first on the path, one thread a process, compiled modules kept."""
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    others = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**others, **own}


def table(title: str, series: Sequence[Series], unit: str = "s") -> str:
    """Minimum and median of every variant, and the ratio to the first one.

    The ratio is the median of the ratios within a round: what slows a whole round cancels.
    """
    factor = {"s": 1, "ms": 1000}[unit]
    base = series[0]
    lines = [
        f"### {title}",
        "",
        f"| | min, {unit} | median, {unit} | to the first |",
        "|---|---|---|---|",
    ]
    for each in series:
        ratios = [a / b for a, b in zip(each.seconds, base.seconds, strict=True)]
        cells = (each.name, each.minimum * factor, each.median * factor, statistics.median(ratios))
        lines.append("| {} | {:.4g} | {:.4g} | {:.3f} |".format(*cells))
    return "\n".join(lines) + "\n"


def machine(*, torch: str = "") -> str:
    """What was measured on, and how busy it was when the figures were taken."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    cores = len(os.sched_getaffinity(0))
    words = [f"Python {platform.python_version()}", f"{cores} cores", f"load {load}"]
    return ", ".join([*([f"torch {torch}"] if torch else []), *words]) + "\n"


def start_ranks(script: str, ranks: int) -> int:
    """Run a benchmark again as gloo ranks of this machine; the exit code."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={ranks}", script, *sys.argv[1:]]
    return subprocess.run(command, env=environment(), check=False).returncode
