"""Jobs that the tests give to the pool; a job lies in a module because processes import it."""

import os
import signal
import time

import torch
import torch._dynamo
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from specc.runtime.execute import train_records


def uncompiled_records(text: str, name: str) -> list[dict[str, float | str]]:
    """The records of a training whose compiled parts run eagerly."""
    with torch._dynamo.config.patch(disable=True):
        return train_records(text, name)


def add_ranks() -> float:
    total = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(total)
    return total.item()


def environment(*names: str) -> dict[str, str | None]:
    return {name: os.environ.get(name) for name in names}


def process_id() -> int:
    return os.getpid()


def has_group() -> bool:
    return dist.is_initialized()


def raise_on(rank: int, text: str) -> None:
    if dist.get_rank() == rank:
        raise ValueError(text)
    dist.barrier()


def exit_on(rank: int, text: str) -> None:
    if dist.get_rank() == rank:
        raise SystemExit(text)
    dist.barrier()


def die_on(rank: int) -> None:
    if dist.get_rank() == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def sleep_on(rank: int, seconds: float) -> None:
    if dist.get_rank() == rank:
        time.sleep(seconds)
    dist.barrier()


def leave_the_environment_changed() -> None:
    os.environ["LEFT_BEHIND"] = "1"
    os.chdir("/")


def unpicklable() -> object:
    return lambda: None


def end_the_group_oneself() -> bool:
    dist.barrier()
    dist.destroy_process_group()
    return dist.is_initialized()


def gathered(other_groups: int) -> list[float]:
    """A tensor sharded over pairs of ranks and gathered, with some process groups made before."""
    for _ in range(other_groups):
        dist.new_group([0])
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("outer", "inner"))
    shards = distribute_tensor(torch.arange(5.0), mesh, [Replicate(), Shard(0)])
    # torch remembers by mesh what an operation gives, and the result has the remembered mesh
    result = shards.detach()
    assert isinstance(result, DTensor)
    return result.full_tensor().tolist()
