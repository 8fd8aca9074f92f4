"""Initial weights as a function of seed, name and row alone: every mesh starts with the same.

A draw is a function of (rows, columns, generator) that returns an fp32 matrix.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from specc.parts.keyed import keyed_generator

BLOCK_VALUES = 2**18  # drawn with one key; large enough for full speed, small beside any shard


def normal(std: float, mean: float = 0.0) -> Callable[..., Tensor]:
    """Draws from a normal distribution."""
    return lambda rows, columns, generator: torch.empty(rows, columns).normal_(
        mean, std, generator=generator
    )


def uniform(bound: float) -> Callable[..., Tensor]:
    """Draws evenly from -bound to bound."""
    return lambda rows, columns, generator: torch.empty(rows, columns).uniform_(
        -bound, bound, generator=generator
    )


def trunc_normal(std: float, cut: float = 2.0) -> Callable[..., Tensor]:
    """Draws from a normal distribution without what lies beyond `cut` standard deviations."""
    edge = math.erf(cut / math.sqrt(2))  # by the inverse of the distribution function
    return lambda rows, columns, generator: (
        torch.empty(rows, columns)
        .uniform_(-edge, edge, generator=generator)
        .erfinv_()
        .mul_(std * math.sqrt(2))
        .clamp_(-cut * std, cut * std)
    )


def xavier_uniform(fan_in: int, fan_out: int, gain: float = 1.0) -> Callable[..., Tensor]:
    """Draws evenly, variance 2 * gain**2 / (fan_in + fan_out) (Glorot & Bengio 2010, eq. 16)."""
    return uniform(gain * math.sqrt(6.0 / (fan_in + fan_out)))


def constant(value: float) -> Callable[..., Tensor]:
    """The same value everywhere."""
    return lambda rows, columns, _: torch.full((rows, columns), value)


@torch.no_grad()
def init_weights(
    model: nn.Module,
    table: Mapping[str, Callable[..., Tensor]],
    seed: int,
    skip: Collection[str] = (),
) -> None:
    """Fill every parameter and persistent buffer by its row of the table.

    A tensor is read as rows, counted over all dims but the last, and drawn in blocks of rows, each
    with a generator keyed by (seed, name, block). A rank draws the blocks that it keeps a part of.
    The same torch on the same family of CPUs draws the same bits on every mesh.

    Args:
        table: names as in model.named_parameters(), where `*` stands for one index of a list; of
            several rows that fit, the one with the fewest `*` holds.
        skip: names of tensors that are left alone.

    Raises:
        ValueError: if a tensor has no row, or a row no tensor.
    """
    tensors = {n: t for n, t in stored_tensors(model).items() if n not in skip}
    rows = {name: row_of(name, table) for name in tensors}
    missing = [name for name, row in rows.items() if row is None]
    unused = [row for row in table if row not in rows.values()]
    if missing or unused:
        raise ValueError(f"no initial value is given for {missing}, nothing is called {unused}")
    for name, row in rows.items():
        if row is not None:
            fill(tensors[name], table[row], seed, name)


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, a shared one once, under its first name."""
    if isinstance(model, DistributedDataParallel):
        model = model.module  # names are those of the model itself
    kept = model.state_dict(keep_vars=True)
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in kept}
    return {**dict(model.named_parameters()), **buffers}


def row_of(name: str, table: Iterable[str]) -> str | None:
    """The row of the table that fits a name with the fewest `*`, the first of equals."""
    parts = name.split(".")
    fitting = [
        row
        for row in table
        if len(row.split(".")) == len(parts)
        and all(
            a == b or (a == "*" and b.isdigit()) for a, b in zip(row.split("."), parts, strict=True)
        )
    ]
    return min(fitting, key=lambda row: row.count("*"), default=None)


def fill(tensor: Tensor, draw: Callable[..., Tensor], seed: int, name: str) -> None:
    """Draw the part of a tensor that this rank keeps."""
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    if local.numel() == 0:
        return
    rows, columns, (num_rows, num_columns) = kept_part(tensor)
    target = local.view(len(rows), -1)
    height = max(1, BLOCK_VALUES // num_columns)
    blocks, counts = torch.unique_consecutive(rows // height, return_counts=True)
    done = 0
    for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
        first = block * height
        drawn = draw(min(height, num_rows - first), num_columns, keyed_generator(seed, name, block))
        target[done : done + count].copy_(drawn[rows[done : done + count] - first, columns])
        done += count


def kept_part(tensor: Tensor) -> tuple[Tensor, slice, tuple[int, int]]:
    """Which rows and columns of a tensor, read as a matrix, this rank keeps; and the whole's shape.

    Rows are counted over all dims but the last, columns along the last.
    """
    *outer, num_columns = tensor.shape or (1,)
    *kept, columns = kept_slices(tensor) or (slice(0, 1),)
    rows = torch.arange(math.prod(outer)).view(outer)[tuple(kept)].flatten()
    return rows, columns, (math.prod(outer), num_columns)


def kept_slices(tensor: Tensor) -> tuple[slice, ...]:
    """For each dim of a tensor the indices that this rank keeps; all of them where it is not split.

    Each mesh dim that splits a tensor dim cuts what is left of it into pieces of equal length, the
    last ones shorter or empty.
    """
    slices = [slice(0, size) for size in tensor.shape]
    if not isinstance(tensor, DTensor):
        return tuple(slices)
    mesh, coordinate = tensor.device_mesh, tensor.device_mesh.get_coordinate()
    assert coordinate is not None, "this rank has no part of the tensor"
    # FSDP on top of another split cuts last, although its mesh dim comes first: a strided shard
    cuts = sorted(enumerate(tensor.placements), key=lambda cut: hasattr(cut[1], "split_factor"))
    for axis, placement in cuts:
        dim = getattr(placement, "dim", None)
        if dim is None:  # a copy
            continue
        held = slices[dim]
        length = -(-(held.stop - held.start) // mesh.size(axis))
        start = min(held.start + coordinate[axis] * length, held.stop)
        slices[dim] = slice(start, min(start + length, held.stop))
    return tuple(slices)


@torch.no_grad()
def digest(model: nn.Module) -> str:
    """Sixteen hex digits that tell any two models' weights apart, the same on every mesh.

    Every rank must call it: one all-reduce adds up what each rank holds, copies counted once.
    """
    tensors = stored_tensors(model)
    device = next(iter(tensors.values())).device
    sums = torch.tensor([weighted_bits(tensor) for tensor in tensors.values()], device=device)
    if dist.is_initialized():
        dist.all_reduce(sums)
    facts = [
        f"{name} {tuple(tensor.shape)} {bits}"
        for (name, tensor), bits in zip(tensors.items(), sums.tolist(), strict=True)
    ]
    return hashlib.blake2b("\n".join(facts).encode(), digest_size=8).hexdigest()


def weighted_bits(tensor: Tensor) -> int:
    """Sum over what this rank holds of the bits of each element times a weight of its position.

    In int64, which wraps: the order of the sum, and so the mesh, changes nothing. A rank with a
    copy of what another counts gives 0.
    """
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    if local.numel() == 0 or not counts_copy(tensor):
        return 0
    rows, columns, (_, num_columns) = kept_part(tensor)
    integer = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[local.element_size()]
    bits = local.contiguous().view(integer).view(len(rows), -1)
    column_weights = 2 * torch.arange(num_columns)[columns] + 1
    row_weights = (2 * rows + 1) * -7046029254386353131  # 2**64 / golden ratio, odd
    height = max(1, BLOCK_VALUES // num_columns)
    sums = [(part.cpu().long() * column_weights).sum(dim=1) for part in bits.split(height)]
    return int((torch.cat(sums) * row_weights).sum())


def counts_copy(tensor: Tensor) -> bool:
    """Whether this rank is the one of those with the same part whose part counts in a sum."""
    if not dist.is_initialized():
        return True
    if not isinstance(tensor, DTensor):
        return dist.get_rank() == 0
    mesh, coordinate = tensor.device_mesh, tensor.device_mesh.get_coordinate()
    if mesh.size() != dist.get_world_size():
        raise ValueError(f"weights on a mesh of {mesh.size()} of {dist.get_world_size()} ranks")
    return all(
        index == 0 or not placement.is_replicate()
        for index, placement in zip(coordinate or (), tensor.placements, strict=True)
    )
