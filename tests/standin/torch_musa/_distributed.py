"""The mccl backend and the names that torch_musa adds to torch.distributed."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch._C._distributed_c10d import Store
from torch.distributed import device_mesh

from torch_musa._backing import backing


def create_mccl(store: Store, rank: int, size: int, timeout: timedelta) -> object:
    """A process group of musa tensors; its rules are MCCL's, gloo moves the bytes."""
    return backing.make_mccl(dist.ProcessGroupGloo(store, rank, size, timeout))


def register(create: object = create_mccl) -> None:
    """Makes "mccl" a backend of torch.distributed, for musa tensors only."""
    # A plain creator, as torch_musa's: it never sees pg_options.
    dist.Backend.register_backend("mccl", create, extended_api=False, devices=["musa"])
    setattr(dist, "is_mccl_available", lambda: True)  # noqa: B010  not in torch's stubs
    # A mesh of a bound device splits its group since torch 2.11, where MCCL can; before, it makes
    # new groups, and so it does here on every torch.
    setattr(device_mesh, "split_group", new_groups)  # noqa: B010  not in torch's stubs


def new_groups(
    parent_pg: Any, split_ranks: Sequence[list[int]], pg_options: Any = None, **options: Any
) -> Any:
    """The group of this rank among new groups of these ranks."""
    del parent_pg, pg_options
    groups = [dist.new_group(ranks, **options) for ranks in split_ranks]
    mine = [dist.get_rank() in ranks for ranks in split_ranks]
    return groups[mine.index(True)] if True in mine else None
