"""What a process of the pool does: takes a job, runs it as one rank, answers and cleans up."""

import faulthandler
import gc
import importlib
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, _redistribute

from specc.runtime.causes import is_consequence
from specc.runtime.job import READY, Outcome, Task


def serve(connection: Connection, stacks: str, threads: int) -> None:
    """Answer jobs until the other end of `connection` is closed.

    Args:
        stacks: file that receives all stacks at SIGUSR1, which shows where a rank hangs.
        threads: torch's intra-op threads.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that owns the pool
    torch.set_num_threads(threads)
    with Path(stacks).open("w", encoding="utf-8") as file:
        faulthandler.register(signal.SIGUSR1, file=file, all_threads=False)
        connection.send_bytes(READY)
        while True:
            try:
                task: Task = pickle.loads(connection.recv_bytes())  # noqa: S301  from our parent
            except EOFError:
                return
            connection.send_bytes(_answer(task))
            _clean_up()
            connection.send_bytes(READY)


def _answer(task: Task) -> bytes:
    """The pickled outcome; the process group still stands, for ending it may have to wait."""
    environ, folder = dict(os.environ), Path.cwd()
    os.environ.update(_variables(task))
    try:
        return pickle.dumps(Outcome(task.rank, value=_perform(task)))
    except BaseException as error:  # noqa: BLE001  SystemExit is how a training refuses to start
        return pickle.dumps(_failure(task.rank, error))
    finally:
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(folder)


def _variables(task: Task) -> dict[str, str]:
    return {
        "RANK": str(task.rank),
        "WORLD_SIZE": str(task.world),
        "LOCAL_RANK": str(task.rank),
        "LOCAL_WORLD_SIZE": str(task.world),
        **task.env,
    }


def _perform(task: Task) -> object:
    function = _find(task.function)
    arguments = pickle.loads(task.arguments)  # noqa: S301  from our parent
    if task.backend is None:
        return function(*arguments)
    dist.init_process_group(
        task.backend,
        init_method=f"file://{task.store}",
        rank=task.rank,
        world_size=task.world,
        timeout=timedelta(seconds=task.timeout_s),
    )
    value = function(*arguments)
    if dist.is_initialized():  # a printed text ends the group itself
        dist.barrier()
    return value


def _find(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _failure(rank: int, error: BaseException) -> Outcome:
    line = "".join(traceback.format_exception_only(error)).strip()
    text = "".join(traceback.format_exception(error))
    return Outcome(rank, None, line, text, is_consequence(line), time.monotonic_ns())


def _clean_up() -> None:
    """Free the model, whose modules form reference cycles, and end the process group.

    In this order: a reducer of DDP that outlives its group ends the group's threads while it
    holds the GIL, for which one of them may wait (one run in 40 hung, torch 2.13.0).
    """
    gc.collect()
    if dist.is_initialized():
        dist.destroy_process_group()
    _forget_meshes()


def _forget_meshes() -> None:
    """Empty DTensor's memory of what its operations give.

    It is looked up by the ranks and names of a mesh. A mesh of the next job that looks the same
    would get the process groups of this one: they are gone, or other groups have their names by
    then. Measured on torch 2.13.0; torch has no public function for this.
    """
    DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding.cache.cache_clear()  # noqa: SLF001
    _redistribute._gen_transform_infos.cache_clear()  # noqa: SLF001
    clear_native = getattr(torch._C, "_clear_DTensor_sharding_propagator_cache", None)  # noqa: SLF001
    if clear_native is not None:
        clear_native()
