"""What moves between ranks each of which holds a piece of a value, or a summand of it.

Source: Shoeybi et al. 2019, "Megatron-LM", section 3; Korthikanti et al. 2022, "Reducing
Activation Recomputation in Large Transformer Models", section 4.2.2.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# Names since torch 2.13, which warns of the older ones.
ALL_GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


class Gather(torch.autograd.Function):
    """All pieces along a dim on every rank; its transpose sums gradients and cuts them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
        """The rank's number is the place of its piece."""
        ctx.dim, ctx.group = dim, group
        return joined(x, dim, group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """What every rank did with this piece counts."""
        return summed_piece(grads[0], ctx.dim, ctx.group), None, None


class ScatterSum(torch.autograd.Function):
    """This rank's piece along a dim of the sum over ranks: the transpose of Gather."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
        """The rank's number is the place of its piece."""
        ctx.dim, ctx.group = dim, group
        return summed_piece(x, dim, group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Every summand gets the gradient of the whole sum."""
        return joined(grads[0], ctx.dim, ctx.group), None, None


class Collect(torch.autograd.Function):
    """All pieces along a dim on every rank, where all ranks go on in the same way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
        """As Gather."""
        ctx.dim, ctx.group = dim, group
        return joined(x, dim, group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient is whole, and the same, on every rank already."""
        return piece(grads[0], ctx.dim, ctx.group), None, None


class Sum(torch.autograd.Function):
    """The sum over ranks on every rank, where all ranks go on in the same way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        """In a tensor of its own."""
        del ctx
        return summed(x, group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient is whole, and the same, on every rank already."""
        del ctx
        return grads[0], None


class Enter(torch.autograd.Function):
    """A value that all ranks have, where each goes on in its own way: the transpose of Sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        """Nothing moves."""
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """What every rank did with the value counts."""
        return summed(grads[0], ctx.group), None


def gather(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """All of a value, of which each rank has a piece along `dim`; each goes on in its own way."""
    return Gather.apply(x, dim, group)


def scatter_sum(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """This rank's piece along `dim` of the sum of what the ranks have."""
    return ScatterSum.apply(x, dim, group)


def collect(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """All of a value, of which each rank has a piece along `dim`; all go on in the same way."""
    return Collect.apply(x, dim, group)


def sum_over(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The sum of what the ranks have; all go on in the same way."""
    return Sum.apply(x, group)


def enter(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """A value that all ranks have; each goes on in its own way."""
    return Enter.apply(x, group)


def piece(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """This rank's piece along `dim` of a value that all ranks have."""
    length = x.shape[dim] // dist.get_world_size(group)
    return x.narrow(dim, dist.get_rank(group) * length, length)


def joined(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """The pieces of all ranks side by side along `dim`."""
    x = x.contiguous()
    out = x.new_empty((dist.get_world_size(group) * x.shape[0], *x.shape[1:]))
    ALL_GATHER(out, x, group=group)
    return out.unflatten(0, (-1, x.shape[0])).movedim(0, dim).flatten(dim, dim + 1)


def summed_piece(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """This rank's piece along `dim` of the sum over ranks."""
    x = x.unflatten(dim, (dist.get_world_size(group), -1)).movedim(dim, 0).contiguous()
    out = x.new_empty(x.shape[1:])
    REDUCE_SCATTER(out, x.flatten(0, 1), group=group)
    return out


def summed(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The sum over ranks, in a tensor of its own."""
    x = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(x, group=group)
    return x
