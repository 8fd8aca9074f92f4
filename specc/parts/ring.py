"""Ring attention: keys and values travel around the ranks among which the tokens are split.

Source: Liu et al. 2023, "Ring Attention with Blockwise Transformers", section 3; softmaxes over
parts of the keys are merged as in Dao 2023, "FlashAttention-2", section 3.1.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

BLOCK = 512  # queries whose scores exist at a time


class RingAttention(torch.autograd.Function):
    """Attention of this rank's queries over the keys of all ranks of a group.

    Rank r holds the r-th piece of the tokens. Every rank sends what it holds to the next one, n - 1
    times; in the backward pass the gradients of the keys travel with them, and one hop more, home.
    """

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        group: dist.ProcessGroup,
        causal: bool,
        scale: float,
    ) -> Tensor:
        """Shapes: as ring_attention."""
        rank, n = dist.get_rank(group), dist.get_world_size(group)
        out, lse = block_attention(q, k, v, scale, causal)
        held = (k, v)
        for hop in range(1, n):
            held = received(sent_on(held, group))
            if not causal or hop <= rank:  # the piece of rank r - hop, all of it before ours
                part, part_lse = block_attention(q, *held, scale, False)
                whole = torch.logaddexp(lse, part_lse)
                out = out * (lse - whole).exp().unsqueeze(-1)
                out = out + part * (part_lse - whole).exp().unsqueeze(-1)
                lse = whole
        out = out.to(q.dtype)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.group, ctx.causal, ctx.scale = group, causal, scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The same way again, with the weights of every piece computed anew."""
        q, k, v, out, lse = ctx.saved_tensors
        rank, n = dist.get_rank(ctx.group), dist.get_world_size(ctx.group)
        rowsum = (grads[0].float() * out.float()).sum(dim=-1)
        given = (q, grads[0], lse, rowsum)
        dq, dk, dv = block_gradients(*given, k, v, ctx.scale, ctx.causal)
        held, travelling = (k, v), (dk, dv)
        for hop in range(1, n):
            moving = sent_on(held, ctx.group)
            travelling = received(sent_on(travelling, ctx.group))
            held = received(moving)
            if not ctx.causal or hop <= rank:
                more, dk, dv = block_gradients(*given, *held, ctx.scale, False)
                dq = dq + more
                travelling = (travelling[0] + dk, travelling[1] + dv)
        if n > 1:
            travelling = received(sent_on(travelling, ctx.group))
        dk, dv = travelling
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None


@torch.compiler.disable  # what travels between ranks is no part of a graph
def ring_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    group: dist.ProcessGroup,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attention over the tokens of all ranks of a group, each of which holds an equal piece.

    H / K neighbouring query heads share one key head. No rank ever holds all keys.

    Shapes: q [B, S / n, H, E], k [B, S / n, K, E], v [B, S / n, K, F] -> [B, S / n, H, F].

    Args:
        scale: factor on the scores, 1 / sqrt(E) when None.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return RingAttention.apply(q, k, v, group, causal, scale)


def block_attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """Attention over some of the keys, in fp32, and the log of the sum of its weights.

    Shapes: -> [B, S, H, F] and [B, S, H].
    """
    outs, sums = [], []
    for first in range(0, q.shape[1], BLOCK):
        rows = slice(first, first + BLOCK)
        keys = slice(0, first + BLOCK if causal else None)
        scores = block_scores(q[:, rows], k[:, keys], scale, first if causal else None)
        lse = scores.logsumexp(dim=-1)
        weights = (scores - lse.unsqueeze(-1)).exp().to(v.dtype)
        out = torch.einsum("bkgst,btkf->bskgf", weights, v[:, keys])
        outs.append(out.flatten(2, 3).float())
        sums.append(lse.permute(0, 3, 1, 2).flatten(2, 3))
    return torch.cat(outs, dim=1), torch.cat(sums, dim=1)


def block_gradients(
    q: Tensor,
    dout: Tensor,
    lse: Tensor,
    rowsum: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """What some of the keys and their values get, and give to the queries; all in fp32.

    Args:
        lse: log of the sum of the weights over the keys of all ranks, [B, S, H].
        rowsum: of the result times its gradient, [B, S, H].
    """
    heads = k.shape[2]
    dq, dk, dv = (torch.zeros_like(x, dtype=torch.float32) for x in (q, k, v))
    for first in range(0, q.shape[1], BLOCK):
        rows = slice(first, first + BLOCK)
        keys = slice(0, first + BLOCK if causal else None)
        grouped = [x[:, rows].unflatten(2, (heads, -1)) for x in (q, dout, lse, rowsum)]
        queries, gradient, total, sums = grouped
        scores = block_scores(q[:, rows], k[:, keys], scale, first if causal else None)
        weights = (scores - total.permute(0, 2, 3, 1).unsqueeze(-1)).exp()
        dv[:, keys] += torch.einsum("bkgst,bskgf->btkf", weights.to(v.dtype), gradient).float()
        change = torch.einsum("bskgf,btkf->bkgst", gradient, v[:, keys]).float()
        change = weights * (change - sums.permute(0, 2, 3, 1).unsqueeze(-1)) * scale
        change = change.to(q.dtype)
        dq[:, rows] += torch.einsum("bkgst,btke->bskge", change, k[:, keys]).flatten(2, 3).float()
        dk[:, keys] += torch.einsum("bkgst,bskge->btke", change, queries).float()
    return dq, dk, dv


def block_scores(q: Tensor, k: Tensor, scale: float, first: int | None) -> Tensor:
    """Scores in fp32, [B, K, H / K, S, T].

    Args:
        first: place of the first query among the keys, where no query sees a key behind it.
    """
    grouped = q.unflatten(2, (k.shape[2], -1))
    scores = torch.einsum("bskge,btke->bkgst", grouped, k).float() * scale
    if first is None:
        return scores
    query = torch.arange(first, first + q.shape[1], device=q.device)[:, None]
    key = torch.arange(k.shape[1], device=q.device)
    return scores.masked_fill(key > query, float("-inf"))


def sent_on(
    tensors: tuple[Tensor, Tensor], group: dist.ProcessGroup
) -> tuple[tuple[Tensor, Tensor], list[dist.Work]]:
    """Start to send two tensors to the next rank; and what comes from the one before."""
    rank, n = dist.get_rank(group), dist.get_world_size(group)
    after, before = (dist.get_global_rank(group, (rank + step) % n) for step in (1, -1))
    first, second = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in tensors)
    sends = [dist.P2POp(dist.isend, x.contiguous(), after, group) for x in tensors]
    receives = [dist.P2POp(dist.irecv, x, before, group) for x in (first, second)]
    return (first, second), dist.batch_isend_irecv([*sends, *receives])


def received(
    moving: tuple[tuple[Tensor, Tensor], list[dist.Work]],
) -> tuple[Tensor, Tensor]:
    """The two tensors that were on their way, when they are here."""
    tensors, works = moving
    for work in works:
        work.wait()
    return tensors
