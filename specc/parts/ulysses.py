"""Ulysses: all-to-alls that give every rank all tokens of some heads instead of some tokens of all.

Source: Jacobs et al. 2023, "DeepSpeed Ulysses", section 3.1.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class AllToAll(torch.autograd.Function):
    """Exchange equal slices of dim 0 between the ranks of a group; the gradient travels back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        """Slice i of the result is the slice for this rank that rank i held."""
        ctx.group = group
        x = x.contiguous()  # an output with the strides of a permuted input is filled wrongly
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """The exchange is its own transpose."""
        return AllToAll.apply(grads[0], ctx.group), None


def tokens_to_heads(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """All tokens of this rank's share of the heads, from all heads of its share of the tokens.

    Shapes: [B, S / n, H, K] -> [B, S, H / n, K] over the n ranks of the group; n divides H.
    """
    n = dist.get_world_size(group)
    if n == 1:
        return x
    x = x.unflatten(2, (n, -1)).permute(2, 0, 1, 3, 4)
    x = AllToAll.apply(x, group)  # dim 0 is now the rank that the tokens came from
    return x.permute(1, 0, 2, 3, 4).flatten(1, 2)


def heads_to_tokens(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """All heads of this rank's share of the tokens: the inverse of tokens_to_heads.

    Shapes: [B, S, H / n, K] -> [B, S / n, H, K] over the n ranks of the group; n divides S.
    """
    n = dist.get_world_size(group)
    if n == 1:
        return x
    x = x.unflatten(1, (n, -1)).permute(1, 0, 2, 3, 4)
    x = AllToAll.apply(x, group)  # dim 0 is now the rank that the heads came from
    return x.permute(1, 2, 0, 3, 4).flatten(2, 3)


def repeat_heads(x: Tensor, times: int) -> Tensor:
    """Every head `times` times in a row, so that grouped attention pairs as before.

    With fewer key heads than ranks, lcm(K, n) / K copies let tokens_to_heads split them; H must be
    a multiple of lcm(K, n).

    Shapes: [B, T, K, E] -> [B, T, times * K, E].
    """
    return x[:, :, :, None].expand(-1, -1, -1, times, -1).flatten(2, 3)
