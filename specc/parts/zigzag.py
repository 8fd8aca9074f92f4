"""Causal ring attention in zigzag order: every rank has an early and a late half, and equal work.

Source: Grattafiori et al. 2024, "The Llama 3 Herd of Models", section 3.3.2.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from specc.parts.ring import RingAttention, Sight


class HalvesExchange(torch.autograd.Function):
    """Halves of the tokens change ranks, and their gradients change back."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, group: dist.ProcessGroup, sends: list[int], receives: list[int]
    ) -> Tensor:
        """Halves stand in dim 0, in the order of the ranks they go to and come from.

        Args:
            sends, receives: how many halves, for each rank of the group.
        """
        ctx.group, ctx.sends, ctx.receives = group, sends, receives
        x = x.contiguous()
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x, receives, sends, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        """Each half goes back to where it came from."""
        back = HalvesExchange.apply(grads[0], ctx.group, ctx.receives, ctx.sends)
        return back, None, None, None


@torch.compiler.disable  # what travels between ranks is no part of a graph
def zigzag_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    group: dist.ProcessGroup,
    window: int | None = None,
    cap: float | None = None,
    scale: float | None = None,
) -> Tensor:
    """Causal attention over the tokens of all ranks, as ring_attention, with equal work for each.

    Halves of the ranks' pieces move before and after, so rank r works on the halves r and
    2 * n - 1 - r of 2 * n: of what comes from another rank, all its queries see the early half, or
    the late half of them sees all.

    Shapes, Args: as ring_attention; S / n is even.
    """
    n, half = dist.get_world_size(group), q.shape[1] // 2
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    firsts = tuple((rank * half, (2 * n - 1 - rank) * half) for rank in range(n))
    q, k, v = (pieces_to_zigzag(x, group) for x in (q, k, v))
    out = RingAttention.apply(q, k, v, group, firsts, n - 1, Sight(factor, True, window, cap))
    return zigzag_to_pieces(out, group)


def pieces_to_zigzag(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Halves r and 2 * n - 1 - r of all tokens, from this rank's piece, the halves 2 * r and + 1.

    Shapes: [B, S / n, ..] -> the same over the n ranks of the group.
    """
    halves = x.unflatten(1, (2, -1)).transpose(0, 1)
    if goes_down(group):
        halves = halves.flip(0)  # the second half goes to an earlier rank than the first
    halves = HalvesExchange.apply(halves, group, *halves_moved(group))
    return halves.transpose(0, 1).flatten(1, 2)


def zigzag_to_pieces(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """This rank's piece of the tokens: the inverse of pieces_to_zigzag."""
    sends, receives = halves_moved(group)
    halves = x.unflatten(1, (2, -1)).transpose(0, 1)
    halves = HalvesExchange.apply(halves, group, receives, sends)
    if goes_down(group):
        halves = halves.flip(0)
    return halves.transpose(0, 1).flatten(1, 2)


def goes_down(group: dist.ProcessGroup) -> bool:
    """Whether this rank's halves are late ones, which ranks hold in falling order."""
    return 2 * dist.get_rank(group) >= dist.get_world_size(group)


def halves_moved(group: dist.ProcessGroup) -> tuple[list[int], list[int]]:
    """How many halves this rank sends to each rank on the way to zigzag order, and gets."""
    rank, n = dist.get_rank(group), dist.get_world_size(group)
    to = [min(half, 2 * n - 1 - half) for half in (2 * rank, 2 * rank + 1)]
    origins = [half // 2 for half in (rank, 2 * n - 1 - rank)]
    return [to.count(other) for other in range(n)], [origins.count(other) for other in range(n)]
