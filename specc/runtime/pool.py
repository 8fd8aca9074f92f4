"""A pool of processes that is started once and runs many jobs, each in a process group of its own.

Starting ranks and importing torch takes seconds; making and destroying a process group over a
file store takes milliseconds. Parity tests and `specc verify` train on many meshes, one after the
other, in the same processes.
"""

import importlib
import os
import pickle
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing import connection as pipes
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs

from specc.diagnostics import SpeccError
from specc.runtime.job import READY, Outcome, Task

START_S = 180  # importing torch on a loaded machine
GRACE_S = 10  # what the others get after a rank has failed: a lost peer shows within a second
STACKS_S = 0.5  # the handler that writes the stacks runs at once, also inside a collective


class JobFailed(Exception):  # noqa: N818  it says what happened, not what kind of thing it is
    """At least one rank failed; the message begins with the rank that failed by itself.

    Args:
        outcomes: of all ranks, by rank.
    """

    def __init__(self, outcomes: tuple[Outcome, ...]) -> None:
        super().__init__(_describe(outcomes))
        self.outcomes = outcomes


@attrs.define
class _Process:
    """One process of the pool and our end of its pipe."""

    process: BaseProcess
    connection: Connection
    stacks: Path


class Pool:
    """Processes that run jobs as ranks; a dead or hanging one is replaced before the next job.

    Args:
        backend: of the default process group of each job, as in `init_process_group`.
        threads: torch's intra-op threads in each process.
    """

    def __init__(self, backend: str, *, threads: int = 1) -> None:
        self._backend = backend
        self._threads = threads
        self._folder = Path(tempfile.mkdtemp(prefix="specc_pool_"))
        self._processes: list[_Process | None] = []
        self._started = 0
        self._jobs = 0

    def __enter__(self) -> "Pool":  # noqa: PYI034  Self came with Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(
        self,
        job: Callable[..., Any] | str,
        *args: object,
        world: int,
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
        group: bool = True,
    ) -> list[Any]:
        """The results of `job(*args)` by rank.

        Args:
            job: a function at the top of an importable module, or `module:name`. It sees RANK,
                WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and the variables of `env`.
            group: whether the default process group is made for the job.

        Raises:
            JobFailed: a rank raised, died, or did not answer within `timeout_s`.
        """
        outcomes = self.outcomes(job, *args, world=world, timeout_s=timeout_s, env=env, group=group)
        if any(outcome.error is not None for outcome in outcomes):
            raise JobFailed(outcomes)
        return [outcome.value for outcome in outcomes]

    def outcomes(
        self,
        job: Callable[..., Any] | str,
        *args: object,
        world: int,
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
        group: bool = True,
    ) -> tuple[Outcome, ...]:
        """As `run`, but a failure is an outcome and nothing is raised for it."""
        name, arguments = _importable_name(job), pickle.dumps(args)
        processes = self._ready(world)
        self._jobs += 1
        store = self._folder / f"store_{self._jobs}"
        for rank, process in enumerate(processes):
            task = Task(
                function=name,
                arguments=arguments,
                rank=rank,
                world=world,
                env=dict(env or {}),
                store=str(store),
                backend=self._backend if group else None,
                timeout_s=timeout_s + GRACE_S,  # ours ends first, and says where the rank hangs
            )
            process.connection.send_bytes(pickle.dumps(task))
        outcomes = self._collect(processes, time.monotonic() + timeout_s, timeout_s)
        store.unlink(missing_ok=True)
        return outcomes

    def close(self) -> None:
        """End all processes."""
        living = [process for process in self._processes if process is not None]
        for process in living:
            process.connection.close()  # an idle process ends when its pipe does
        for process in living:
            _end(process)
        self._processes.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ready(self, world: int) -> list[_Process]:
        """The first `world` processes, started where there is none."""
        self._processes += [None] * (world - len(self._processes))
        fresh: list[_Process] = []
        ready: list[_Process] = []
        for index, process in enumerate(self._processes[:world]):
            if process is not None and process.process.is_alive():
                ready.append(process)
                continue
            ready.append(self._start())
            fresh.append(ready[-1])
            self._processes[index] = ready[-1]
        for process in fresh:
            self._await_start(process)
        return ready

    def _start(self) -> _Process:
        self._started += 1
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        stacks = self._folder / f"stacks_{self._started}"
        process = context.Process(
            target=_serve, args=(theirs, str(stacks), self._threads), daemon=True
        )
        process.start()
        theirs.close()  # so that the death of the process shows as the end of the pipe
        return _Process(process, ours, stacks)

    def _await_start(self, process: _Process) -> None:
        try:
            if process.connection.poll(START_S) and process.connection.recv_bytes() == READY:
                return
        except (EOFError, ConnectionError):
            pass
        self.close()
        raise SpeccError(
            "a process of the pool did not start: see its messages above; `specc doctor` checks"
            " the installation"
        )

    def _collect(
        self, processes: list[_Process], deadline: float, timeout_s: float
    ) -> tuple[Outcome, ...]:
        """One outcome for each rank; processes that are not ready by then are ended."""
        outcomes: dict[int, Outcome] = {}
        busy = dict(enumerate(processes))
        while busy and (left := deadline - time.monotonic()) > 0:
            waiting = {id(process.connection): rank for rank, process in busy.items()}
            for pipe in pipes.wait([p.connection for p in busy.values()], left):
                rank = waiting[id(pipe)]
                outcome = _receive(rank, busy[rank])
                if outcome is not None:
                    outcomes.setdefault(rank, outcome)  # dying after the answer costs no answer
                if outcome is None or not busy[rank].process.is_alive():
                    del busy[rank]
            if any(outcome.error is not None for outcome in outcomes.values()):
                deadline = min(deadline, time.monotonic() + GRACE_S)
        silent = {rank: process for rank, process in busy.items() if rank not in outcomes}
        has_failure = any(outcome.error is not None for outcome in outcomes.values())
        outcomes.update(_hanging(silent, timeout_s, has_failure=has_failure))
        self._drop_all_but_ready(processes, busy)
        return tuple(outcomes[rank] for rank in range(len(processes)))

    def _drop_all_but_ready(self, processes: list[_Process], busy: dict[int, _Process]) -> None:
        for rank, process in enumerate(processes):
            if rank in busy or not process.process.is_alive():
                _end(process)
                self._processes[rank] = None


def _serve(connection: Connection, stacks: str, threads: int) -> None:
    """The life of a process; only there is torch imported, not in the owner of the pool."""
    importlib.import_module("specc.runtime.rank").serve(connection, stacks, threads)


def _importable_name(job: Callable[..., Any] | str) -> str:
    if isinstance(job, str):
        return job
    name = f"{job.__module__}:{job.__qualname__}"
    if "<" in name or job.__module__ == "__main__":
        raise ValueError(f"{name} cannot be imported by another process: move it to a module")
    return name


def _receive(rank: int, process: _Process) -> Outcome | None:
    """The outcome that a process sends, None when it says that it is ready again."""
    try:
        message = process.connection.recv_bytes()
    except (EOFError, ConnectionError):
        process.process.join(GRACE_S)  # the pipe closes a moment before the exit code is there
        return _death(rank, process.process.exitcode)
    return None if message == READY else pickle.loads(message)  # noqa: S301  from our child


def _death(rank: int, code: int | None) -> Outcome:
    how = f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name
    return Outcome(rank, error=f"the process died ({how})", when_ns=time.monotonic_ns())


def _hanging(
    silent: dict[int, _Process], timeout_s: float, *, has_failure: bool
) -> dict[int, Outcome]:
    """What to say of ranks that gave no answer, with the stack of each."""
    for process in silent.values():
        os.kill(process.process.pid or 0, signal.SIGUSR1)
    if silent:
        time.sleep(STACKS_S)
    found: dict[int, Outcome] = {}
    for rank, process in silent.items():
        stack = process.stacks.read_text(encoding="utf-8")
        reason = "stopped: another rank failed" if has_failure else f"no answer in {timeout_s:g} s"
        found[rank] = Outcome(
            rank,
            error=reason,
            traceback=stack,
            is_consequence=has_failure or _waits_for_others(stack),
            when_ns=time.monotonic_ns(),
        )
    return found


def _waits_for_others(stack: str) -> bool:
    """Whether the innermost frame of a stack lies in a collective or in a store."""
    frames = [line for line in stack.splitlines() if line.lstrip().startswith("File ")]
    return bool(frames) and "torch/distributed/" in frames[0]


def _end(process: _Process) -> None:
    process.connection.close()
    process.process.join(STACKS_S)
    if process.process.is_alive():
        process.process.kill()
        process.process.join()


def _describe(outcomes: tuple[Outcome, ...]) -> str:
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    failed.sort(key=lambda outcome: (outcome.is_consequence, outcome.when_ns))
    first, others = failed[0], failed[1:]
    lines = [f"rank {first.rank} of {len(outcomes)} failed first: {first.error}", first.traceback]
    lines += [f"then rank {other.rank}: {other.error}" for other in others]
    return "\n".join(line.rstrip() for line in lines if line)
