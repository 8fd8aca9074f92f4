"""How many ranks of which size this machine can hold."""

import importlib
import os
from pathlib import Path
from typing import Any

import attrs

from specc.targets import TARGETS

GIB = 2**30
MOST_CPU_RANKS = 8  # more only share the cores
MEMINFO = Path("/proc/meminfo")
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container; the word "max" if there is none
WAY_OUT = "try `--profile smoke`, or `--emit script` for a machine that can"


@attrs.frozen
class Machine:
    """What local ranks can use.

    Args:
        word: what a device is called in messages, in the plural.
        devices: how many there are.
        most_ranks: how many ranks may be started.
        memory_bytes: of each device, or of the whole machine if `shares_memory`; None if unknown.
        shares_memory: whether all ranks live in the same memory.
    """

    word: str
    devices: int
    most_ranks: int
    memory_bytes: int | None
    shares_memory: bool


def why_not(ranks: int, rank_bytes: int | None, machine: Machine) -> str | None:
    """Why the machine cannot hold so many ranks, with the way out; None if it can.

    Args:
        rank_bytes: what one rank needs by the Plan; None if the Plan does not know.
    """
    if ranks > machine.most_ranks:
        most = "" if machine.most_ranks == machine.devices else f", for {machine.most_ranks} ranks"
        here = f"{machine.devices} {machine.word}{most}"
        return f"{ranks} ranks; here {here}: {WAY_OUT}"
    if rank_bytes is None or machine.memory_bytes is None:
        return None
    needed = rank_bytes * (ranks if machine.shares_memory else 1)
    if needed <= machine.memory_bytes:
        return None
    whose = f"{ranks} ranks need" if machine.shares_memory else "one rank needs"
    where = "are free here" if machine.shares_memory else "are on a device"
    return (
        f"{whose} {needed / GIB:.1f} GiB, {machine.memory_bytes / GIB:.1f} GiB {where}: {WAY_OUT}"
    )


def local_machine(device: str) -> Machine:
    """What this machine offers to ranks on a device type."""
    if device == "cpu":
        cores = len(os.sched_getaffinity(0))
        return Machine("CPU cores", cores, MOST_CPU_RANKS, _free_bytes(), shares_memory=True)
    if plugin := TARGETS[device].plugin:
        importlib.import_module(plugin.module)
    # Only here is torch needed: a CPU run and the tests of the rule above do without it.
    torch: Any = importlib.import_module("torch")
    api = torch.get_device_module(device)
    count: int = api.device_count()
    sizes = [int(api.get_device_properties(i).total_memory) for i in range(count)]
    return Machine("GPUs", count, count, min(sizes, default=None), shares_memory=False)


def _free_bytes() -> int | None:
    """Memory that processes can still take: of the machine, or of the container if that is less."""
    limits: list[int] = []
    if CGROUP_LIMIT.exists() and (text := CGROUP_LIMIT.read_text().strip()).isdigit():
        limits.append(int(text))
    if MEMINFO.exists():
        fields = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
        limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    return min(limits, default=None)
