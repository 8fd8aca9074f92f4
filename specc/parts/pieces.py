"""What moves between ranks each of which holds a piece of a value, or a summand of it.

Source: Shoeybi et al. 2019, "Megatron-LM", section 3; Korthikanti et al. 2022, "Reducing
Activation Recomputation in Large Transformer Models", section 4.2.2.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# Names since torch 2.13, which warns of the older ones.
ALL_GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


class Exchange(torch.autograd.Function):
    """A value is exchanged between ranks, and its gradient by the transpose of that."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, there: Callable[[Tensor], Tensor], back: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """The value as the ranks need it next."""
        ctx.back = back
        return there(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """The gradient as the ranks had the value."""
        return ctx.back(grads[0]), None, None


def gather(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """All of a value, of which each rank has a piece along `dim`.

    Each rank goes on in its own way, so what all of them did with a piece counts.
    """
    return Exchange.apply(
        x, lambda x: joined(x, dim, group), lambda grad: summed_piece(grad, dim, group)
    )


def scatter_sum(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """This rank's piece along `dim` of the sum of what the ranks have: the transpose of gather."""
    return Exchange.apply(
        x, lambda x: summed_piece(x, dim, group), lambda grad: joined(grad, dim, group)
    )


def collect(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """All of a value, of which each rank has a piece along `dim`.

    All ranks go on in the same way, so all have the same gradient of the whole.
    """
    return Exchange.apply(x, lambda x: joined(x, dim, group), lambda grad: piece(grad, dim, group))


def enter(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """A value that all ranks have.

    Each rank goes on in its own way, so what all of them did with it counts.
    """
    return Exchange.apply(x, lambda x: x.view_as(x), lambda grad: summed(grad, group))


def sum_over(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The sum of what the ranks have: the transpose of enter.

    All ranks go on in the same way, so all have the same gradient of the sum.
    """
    return Exchange.apply(x, lambda x: summed(x, group), lambda grad: grad)


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
