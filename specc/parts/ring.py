"""Ring attention: keys and values travel around the ranks among which the tokens are split.

Source: Liu et al. 2023, "Ring Attention with Blockwise Transformers", section 3; softmaxes over
parts of the keys are merged as in Dao 2023, "FlashAttention-2", section 3.1.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

BLOCK = 512  # queries whose scores exist at a time
NOTHING = torch.finfo(torch.float32).min  # log of the sum of no weights; -inf - -inf would be nan


class Sight(NamedTuple):
    """Which keys a query sees, and what becomes of its scores.

    Args:
        scale: factor on the scores.
        causal: whether keys behind a query are hidden.
        window: a query sees itself and window - 1 tokens before it, and is causal; None for all.
        cap: scores s become cap * tanh(s / cap).
    """

    scale: float
    causal: bool
    window: int | None = None
    cap: float | None = None


class RingAttention(torch.autograd.Function):
    """Attention of this rank's queries over the keys of all ranks of a group.

    Every rank sends what it holds to the next one, as often as anybody sees something new; in the
    backward pass the gradients of the keys travel with them, and at last home.
    """

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        group: dist.ProcessGroup,
        firsts: tuple[tuple[int, ...], ...],
        hops: int,
        sight: Sight,
    ) -> Tensor:
        """Shapes: as ring_attention.

        Args:
            firsts: place of the first token of each run of tokens that a rank holds, for each rank;
                all runs are equally long.
            hops: how often keys are sent on.
        """
        rank = dist.get_rank(group)
        out = q.new_zeros((*q.shape[:3], v.shape[3]), dtype=torch.float32)
        lse = q.new_full(q.shape[:3], NOTHING, dtype=torch.float32)
        held = (k, v)
        for hop in range(hops + 1):
            held = received(sent_on(held, group)) if hop else held
            for rows, keys, ahead in blocks(firsts[rank], firsts[rank - hop], q.shape[1], sight):
                seen = (held[0][:, keys], held[1][:, keys])
                part, part_lse = block_attention(q[:, rows], *seen, ahead, sight)
                before = lse[:, rows]
                whole = torch.logaddexp(before, part_lse)
                kept = out[:, rows] * (before - whole).exp().unsqueeze(-1)
                out[:, rows] = kept + part * (part_lse - whole).exp().unsqueeze(-1)
                lse[:, rows] = whole
        out = out.to(q.dtype)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.group, ctx.firsts, ctx.hops, ctx.sight = group, firsts, hops, sight
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The same way again, with the weights of every block computed anew."""
        q, k, v, out, lse = ctx.saved_tensors
        rank = dist.get_rank(ctx.group)
        dout = grads[0]
        rowsum = (dout.float() * out.float()).sum(dim=-1)
        dq, dk, dv = (torch.zeros_like(x, dtype=torch.float32) for x in (q, k, v))
        held = (k, v)
        for hop in range(ctx.hops + 1):
            if hop:
                moving = sent_on(held, ctx.group)
                dk, dv = received(sent_on((dk, dv), ctx.group))
                held = received(moving)
            theirs = ctx.firsts[rank - hop]
            for rows, keys, ahead in blocks(ctx.firsts[rank], theirs, q.shape[1], ctx.sight):
                mine = (q[:, rows], dout[:, rows], lse[:, rows], rowsum[:, rows])
                seen = (held[0][:, keys], held[1][:, keys])
                more = block_gradients(*mine, *seen, ahead, ctx.sight)
                dq[:, rows] += more[0]
                dk[:, keys] += more[1]
                dv[:, keys] += more[2]
        if ctx.hops:
            dk, dv = received(sent_on((dk, dv), ctx.group, -ctx.hops))
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None, None


@torch.compiler.disable  # what travels between ranks is no part of a graph
def ring_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    group: dist.ProcessGroup,
    causal: bool = False,
    window: int | None = None,
    cap: float | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attention over the tokens of all ranks of a group, each of which holds an equal piece.

    Rank r holds the r-th piece. H / K neighbouring query heads share one key head. No rank ever
    holds all keys, and keys travel no further than a window reaches.

    Shapes: q [B, S / n, H, E], k [B, S / n, K, E], v [B, S / n, K, F] -> [B, S / n, H, F].

    Args:
        window: a query sees itself and the window - 1 tokens before it; None for all.
        cap: scores s become cap * tanh(s / cap).
        scale: factor on the scores, 1 / sqrt(E) when None.
    """
    n, length = dist.get_world_size(group), q.shape[1]
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    sight = Sight(factor, causal or window is not None, window, cap)
    firsts = tuple((rank * length,) for rank in range(n))
    hops = n - 1 if window is None else min(n - 1, -(-(window - 1) // length))
    return RingAttention.apply(q, k, v, group, firsts, hops, sight)


def blocks(
    mine: tuple[int, ...], theirs: tuple[int, ...], length: int, sight: Sight
) -> Iterator[tuple[slice, slice, int]]:
    """Blocks of this rank's queries, each with the keys of a rank that any of them sees.

    The number says how many places the first query lies behind the first key.

    Args:
        mine, theirs: place of the first token of each run that the two ranks hold.
        length: tokens that a rank holds.
    """
    length //= len(mine)
    for (run, query), (other, key), first in product(
        enumerate(mine), enumerate(theirs), range(0, length, BLOCK)
    ):
        rows = min(BLOCK, length - first)
        ahead = query + first - key
        start = 0 if sight.window is None else max(0, ahead - sight.window + 1)
        stop = min(length, ahead + rows) if sight.causal else length
        if start < stop:
            at, below = run * length + first, other * length
            yield slice(at, at + rows), slice(below + start, below + stop), ahead - start


def block_attention(
    q: Tensor, k: Tensor, v: Tensor, ahead: int, sight: Sight
) -> tuple[Tensor, Tensor]:
    """Attention of some queries over some of the keys, and the log of the sum of its weights.

    Shapes: -> [B, S, H, F] and [B, S, H], in fp32.
    """
    scores = seen_scores(block_scores(q, k, sight), ahead, sight)
    lse = scores.logsumexp(dim=-1).clamp(min=NOTHING)
    weights = (scores - lse.unsqueeze(-1)).exp().to(v.dtype)
    out = torch.einsum("bkgst,btkf->bskgf", weights, v)
    return out.flatten(2, 3).float(), lse.permute(0, 3, 1, 2).flatten(2, 3)


def block_gradients(
    q: Tensor,
    dout: Tensor,
    lse: Tensor,
    rowsum: Tensor,
    k: Tensor,
    v: Tensor,
    ahead: int,
    sight: Sight,
) -> tuple[Tensor, Tensor, Tensor]:
    """What the queries of a block get, its keys, and their values.

    Args:
        lse: log of the sum of the weights over the keys of all ranks, [B, S, H].
        rowsum: of the result times its gradient, [B, S, H].
    """
    grouped = [x.unflatten(2, (k.shape[2], -1)) for x in (q, dout, lse, rowsum)]
    queries, gradient, total, sums = grouped
    scores = block_scores(q, k, sight)
    weights = seen_scores(scores, ahead, sight) - total.permute(0, 2, 3, 1).unsqueeze(-1)
    weights = weights.exp()
    dv = torch.einsum("bkgst,bskgf->btkf", weights.to(v.dtype), gradient)
    change = torch.einsum("bskgf,btkf->bkgst", gradient, v).float()
    change = weights * (change - sums.permute(0, 2, 3, 1).unsqueeze(-1)) * sight.scale
    if sight.cap is not None:
        change = change * (1 - (scores / sight.cap) ** 2)
    change = change.to(q.dtype)
    dq = torch.einsum("bkgst,btke->bskge", change, k).flatten(2, 3)
    dk = torch.einsum("bkgst,bskge->btke", change, queries)
    return dq, dk, dv


def block_scores(q: Tensor, k: Tensor, sight: Sight) -> Tensor:
    """Scores in fp32 of all keys, seen or not, [B, K, H / K, S, T]."""
    grouped = q.unflatten(2, (k.shape[2], -1))
    scores = torch.einsum("bskge,btke->bkgst", grouped, k).float() * sight.scale
    return scores if sight.cap is None else sight.cap * torch.tanh(scores / sight.cap)


def seen_scores(scores: Tensor, ahead: int, sight: Sight) -> Tensor:
    """Scores, -inf where a query does not see a key.

    Args:
        ahead: how many places the first query lies behind the first key.
    """
    S, T = scores.shape[-2:]
    reach = ahead + S if sight.window is None else sight.window
    if not sight.causal or (ahead >= T - 1 and ahead + S <= reach):
        return scores
    query = torch.arange(ahead, ahead + S, device=scores.device)[:, None]
    distance = query - torch.arange(T, device=scores.device)
    return scores.masked_fill((distance < 0) | (distance >= reach), float("-inf"))


def sent_on(
    tensors: tuple[Tensor, Tensor], group: dist.ProcessGroup, steps: int = 1
) -> tuple[tuple[Tensor, Tensor], list[dist.Work]]:
    """Start to send two tensors some ranks on; and what comes from as far before."""
    rank, n = dist.get_rank(group), dist.get_world_size(group)
    after, before = (dist.get_global_rank(group, (rank + way) % n) for way in (steps, -steps))
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
