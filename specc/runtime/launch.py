"""Starts local ranks through torch's elastic agent and says which of them failed first, and why."""

import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import attrs
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from specc.runtime.causes import is_consequence
from specc.runtime.environment import variables

RUN_FAILED = 4
SHUTDOWN_S = 5  # a rank that has not ended by then is killed
LOG_LINES = 20
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@attrs.frozen
class Failure:
    """Why one rank failed.

    Args:
        summary: one line.
        details: traceback and remedy, or the end of the rank's log.
        is_consequence: it lost a peer, or the agent ended it.
        when_ns: on the monotonic clock; infinite if nobody wrote it down.
    """

    rank: int
    summary: str
    details: str
    is_consequence: bool
    when_ns: float


def launch(
    command: Sequence[str],
    ranks: int,
    *,
    env: Mapping[str, str] | None = None,
    log_dir: str | None = None,
) -> int:
    """Run a command as `ranks` processes on this machine, as `torchrun --standalone` does.

    Rank 0 writes to this terminal, the others into files. When a rank fails, and at Ctrl-C, all
    others are ended and the first cause is printed.

    Args:
        command: program and arguments of each rank.
        env: further variables of all ranks, such as those that a target wants before Python starts.
        log_dir: where the files go; by default a temporary folder that is kept if the run fails.

    Returns:
        0, or 4 if the run failed or was stopped.
    """
    folder = Path(log_dir or tempfile.mkdtemp(prefix="specc_run_"))
    agent = elastic_launch(_config(ranks, folder), command[0])
    try:
        with variables({**_defaults(ranks), **(env or {})}), _own_signals(), _quiet_agent():
            agent(*command[1:])
    except ChildFailedError as error:
        _say(describe(collect(error, ranks, folder), ranks, folder))
        return RUN_FAILED
    except (KeyboardInterrupt, SignalException) as stop:
        _say(f"stopped by {_signal_name(stop)}; logs of the ranks: {folder}")
        return RUN_FAILED
    if log_dir is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _signal_name(stop: KeyboardInterrupt | SignalException) -> str:
    if isinstance(stop, KeyboardInterrupt) or stop.sigval == signal.SIGINT:
        return "Ctrl-C"
    return signal.Signals(stop.sigval).name


def _config(ranks: int, folder: Path) -> LaunchConfig:
    known = {field.name for field in fields(LaunchConfig)}
    newer: dict[str, Any] = {
        "shutdown_timeout": SHUTDOWN_S,
        # Ctrl-C reaches us as KeyboardInterrupt, and the ranks as SIGTERM, which ends a collective.
        "signals_to_handle": "SIGTERM,SIGHUP,SIGQUIT",
    }
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=ranks,
        logs_specs=DefaultLogsSpecs(
            log_dir=str(folder), redirects=dict.fromkeys(range(1, ranks), Std.ALL)
        ),
        run_id=uuid.uuid4().hex[:8],
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",  # a free port
        local_addr="localhost",  # the machine's own name need not resolve
        max_restarts=0,
        **{name: value for name, value in newer.items() if name in known},
    )


def _defaults(ranks: int) -> dict[str, str]:
    """What torchrun sets beside the variables of the agent; logs are written line by line."""
    defaults = {"PYTHONUNBUFFERED": "1"}
    if ranks > 1 and "OMP_NUM_THREADS" not in os.environ:
        defaults["OMP_NUM_THREADS"] = "1"
    return defaults


@contextmanager
def _own_signals() -> Generator[None, None, None]:
    """Take back the handlers that the agent installs and leaves behind."""
    before = {number: signal.getsignal(number) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _quiet_agent() -> Generator[None, None, None]:
    """Keep the agent's remarks off the terminal: we say ourselves what happened."""
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(level)


def collect(error: ChildFailedError, ranks: int, folder: Path) -> list[Failure]:
    """Why ranks failed, the first cause first.

    What a rank wrote down counts before what the agent noticed: a rank may need a moment to end
    after its error, and the agent stops it, or even misses it, when a peer ends sooner.
    """
    failures: dict[int, Failure] = {}
    for rank in range(ranks):
        if recorded := _recorded(rank, folder):
            failures[rank] = recorded
        elif rank in error.failures:
            failures[rank] = _noticed(rank, error.failures[rank], folder)
    return sorted(failures.values(), key=lambda f: (f.is_consequence, f.when_ns, f.rank))


def _recorded(rank: int, folder: Path) -> Failure | None:
    file = _file(folder, rank, "error.json")
    if file is None:
        return None
    try:
        message = json.loads(file.read_text(encoding="utf-8"))["message"]
        extra = message["extraInfo"]
    except (ValueError, KeyError, TypeError):  # the rank was ended while it wrote
        return None
    when = float(extra.get("monotonic_ns", "inf"))
    text = message["message"]
    return Failure(rank, text, extra["py_callstack"].rstrip(), is_consequence(text), when)


def _noticed(rank: int, failure: ProcessFailure, folder: Path) -> Failure:
    log = _file(folder, rank, "stderr.log")
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines() if log else []
    details = "\n".join(tail[-LOG_LINES:])
    if failure.exitcode >= 0:
        return Failure(
            rank, f"exit code {failure.exitcode}", details, is_consequence(details), float("inf")
        )
    name = signal.Signals(-failure.exitcode).name
    hint = "; the system does so when memory runs out" if name == "SIGKILL" else ""
    return Failure(
        rank, f"killed by {name}{hint}", details, name == "SIGTERM", float("inf")
    )  # SIGTERM is the agent's own


def _file(folder: Path, rank: int, name: str) -> Path | None:
    """A file that the agent keeps for a rank.

    Source: torch.distributed.elastic.multiprocessing.api.DefaultLogsSpecs, 2.7.1 to 2.13.0.
    """
    return next(iter(sorted(folder.glob(f"*/attempt_0/{rank}/{name}"))), None)


def describe(failures: Sequence[Failure], ranks: int, folder: Path) -> str:
    """The first cause with its details, a line for each other rank, and where the logs are."""
    first, others = failures[0], failures[1:]
    lines = [f"rank {first.rank} of {ranks} failed: {first.summary}"]
    if first.details and first.details != first.summary:
        lines.append(first.details)
    lines += [f"then rank {other.rank}: {other.summary.splitlines()[0]}" for other in others]
    log = _file(folder, first.rank, "stderr.log")
    lines.append(f"log of rank {first.rank}: {log}" if log else f"logs of other ranks: {folder}")
    return "\n".join(lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  the user sits there
