"""Joins the ranks of a training into one process group, or says why they cannot be one."""

import contextlib
import hashlib
import json
import linecache
import math
import os
import platform
import socket
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous


def join(
    name: str,
    backend: str,
    device: torch.device,
    mesh: dict[str, int],
    timeout: timedelta,
    script: str,
) -> None:
    """Make this process one rank of the group that `mesh` needs; alone, a world of one.

    Ranks that are too many or too few, do not run the same text, torch and Python, or do not
    answer within a minute end here, before the first collective, with one message on each node.

    Args:
        name: what messages call the training.
        mesh: the degree of each axis.
        timeout: after which a collective fails.
        script: file of the text that all ranks run.
    """
    needed = math.prod(mesh.values())
    axes = " x ".join(f"{axis}={degree}" for axis, degree in mesh.items())
    needs = f"{name} needs {needed} rank{'s' * (needed > 1)} ({axes})"
    if dist.is_initialized():  # by the program that called us
        if dist.get_world_size() != needed:
            raise ValueError(f"{needs}, the process group has {dist.get_world_size()}")
        return
    if "RANK" not in os.environ:
        if needed != 1:
            raise SystemExit(f"{needs}: start it with torchrun --nproc-per-node={needed}")
        store = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]  documented
        rank, size = 0, 1
    else:
        store, rank, size = next(rendezvous("env://", timeout=timeout))
        # After a restart the store still has the addresses of the ranks that died.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = PrefixStore(f"attempt{attempt}", store)
        limit = min(timeout, timedelta(minutes=1))
        if size != needed:
            stop(store, f"{needs}, torchrun started {size}")
        elif problem := agree(store, rank, size, own_facts(script), limit):
            stop(store, f"{name}: {problem}")
    dist.init_process_group(
        backend,
        store=store,
        rank=rank,
        world_size=size,
        timeout=timeout,
        device_id=None if device.type == "cpu" else device,
    )


def own_facts(script: str) -> dict[str, str]:
    """What must be the same on all ranks, and the node, which names them in messages."""
    text = "".join(linecache.getlines(script))
    return {
        "node": socket.gethostname(),
        "script": hashlib.sha256(text.encode()).hexdigest()[:12],
        "torch": torch.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def agree(store: Store, rank: int, size: int, facts: dict[str, str], limit: timedelta) -> str:
    """Empty if all ranks posted equal facts in time, else what differs or who is missing.

    Only the store is used: a collective would hang in the very cases to report.
    """
    keys = [f"facts/{other}" for other in range(size)]
    store.set(keys[rank], json.dumps(facts))
    if rank == 0:
        with contextlib.suppress(RuntimeError):  # late: the verdict names who is missing
            store.wait(keys, limit)
        store.set("verdict", verdict(store, keys, limit))
    else:
        try:
            store.wait(["verdict"], 2 * limit)
        except RuntimeError:
            return f"rank 0 did not answer within {2 * limit.total_seconds():.0f} s"
    return store.get("verdict").decode()


def verdict(store: Store, keys: list[str], limit: timedelta) -> str:
    """What is wrong with the facts under `keys`, one key for each rank; empty if nothing is."""
    posted = {
        rank: json.loads(store.get(key)) for rank, key in enumerate(keys) if store.check([key])
    }
    if len(posted) < len(keys):
        per_node = int(os.environ.get("LOCAL_WORLD_SIZE", len(keys)))
        names = {rank // per_node: facts["node"] for rank, facts in posted.items()}
        missing = {
            rank: names.get(rank // per_node, f"node {rank // per_node}")
            for rank in range(len(keys))
            if rank not in posted
        }
        return f"no answer within {limit.total_seconds():.0f} s from {places(missing)}"
    lines = []
    for fact in ("script", "torch", "python"):
        values: dict[str, dict[int, str]] = {}
        for rank, facts in posted.items():
            values.setdefault(facts[fact], {})[rank] = facts["node"]
        if len(values) > 1:
            found = "; ".join(f"{value} on {places(nodes)}" for value, nodes in values.items())
            lines.append(f"\n  {fact}: {found}")
    return "the ranks do not run the same program" + "".join(lines) if lines else ""


def places(nodes: dict[int, str]) -> str:
    """Ranks by node, such as `ranks 0-7 of a, rank 9 of b`, from the node of each rank."""
    runs: list[list[int]] = []
    for rank, node in sorted(nodes.items()):
        if runs and runs[-1][-1] == rank - 1 and nodes[rank - 1] == node:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(
        (f"rank {run[0]}" if len(run) == 1 else f"ranks {run[0]}-{run[-1]}")
        + f" of {nodes[run[0]]}"
        for run in runs
    )


def stop(store: Store, problem: str) -> None:
    """End this rank; the first one of each node says why, the others leave it the time to.

    Whoever started the ranks ends all of them as soon as one is gone.
    """
    is_first = True
    with contextlib.suppress(RuntimeError):  # the store went with the rank that held it
        is_first = store.add(f"told {socket.gethostname()}", 1) == 1
    if is_first:
        raise SystemExit(problem)
    time.sleep(5)
    raise SystemExit(1)
