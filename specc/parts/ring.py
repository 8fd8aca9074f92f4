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
        rank, heads = dist.get_rank(group), k.shape[2]
        ctx.heads, ctx.group, ctx.firsts, ctx.hops, ctx.sight = heads, group, firsts, hops, sight
        q, k, v = (matrices(x, heads) for x in (q, k, v))
        out = q.new_zeros((*q.shape[:2], v.shape[2]), dtype=torch.float32)
        lse = q.new_full((*q.shape[:2], 1), NOTHING, dtype=torch.float32)
        held = (k, v)
        for hop in range(hops + 1):
            held = received(sent_on(held, group)) if hop else held
            for mine, theirs, hidden in blocks(firsts[rank], firsts[rank - hop], q, k, sight):
                seen = (held[0][:, theirs], held[1][:, theirs])
                part, part_lse = block_attention(q[:, mine], *seen, hidden, sight)
                before = lse[:, mine]
                whole = torch.logaddexp(before, part_lse)
                kept = out[:, mine].mul_((before - whole).exp())
                kept.addcmul_(part, (part_lse - whole).exp())
                lse[:, mine] = whole
        result = tokens(out.to(q.dtype), heads, k.shape[1])
        ctx.save_for_backward(q, k, v, result, lse)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The same way again, with the weights of every block computed anew."""
        q, k, v, result, lse = ctx.saved_tensors
        rank, length = dist.get_rank(ctx.group), k.shape[1]
        rowsum = (grads[0].float() * result.float()).sum(dim=-1, keepdim=True)
        rowsum, dout = matrices(rowsum, ctx.heads), matrices(grads[0], ctx.heads)
        dq, dk, dv = (torch.zeros_like(x, dtype=torch.float32) for x in (q, k, v))
        held = (k, v)
        for hop in range(ctx.hops + 1):
            if hop:
                moving = sent_on(held, ctx.group)
                dk, dv = received(sent_on((dk, dv), ctx.group))
                held = received(moving)
            origin = ctx.firsts[rank - hop]
            for mine, theirs, hidden in blocks(ctx.firsts[rank], origin, q, k, ctx.sight):
                asked = (q[:, mine], dout[:, mine], lse[:, mine], rowsum[:, mine])
                seen = (held[0][:, theirs], held[1][:, theirs])
                more = block_gradients(*asked, *seen, hidden, ctx.sight)
                dq[:, mine] += more[0]
                dk[:, theirs] += more[1]
                dv[:, theirs] += more[2]
        if ctx.hops:
            dk, dv = received(sent_on((dk, dv), ctx.group, -ctx.hops))
        found = (tokens(dx.to(x.dtype), ctx.heads, length) for dx, x in ((dq, q), (dk, k), (dv, v)))
        return *found, None, None, None, None


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


def matrices(x: Tensor, heads: int) -> Tensor:
    """A matrix for each key head, with the rows of its H / K heads of a token side by side.

    Shapes: [B, S, H, E] -> [B * K, S * H / K, E].

    Args:
        heads: K.
    """
    return x.unflatten(2, (heads, -1)).transpose(1, 2).flatten(2, 3).flatten(0, 1).contiguous()


def tokens(x: Tensor, heads: int, length: int) -> Tensor:
    """The inverse of matrices.

    Args:
        heads: K.
        length: S.
    """
    return x.unflatten(1, (length, -1)).unflatten(0, (-1, heads)).transpose(1, 2).flatten(2, 3)


def blocks(
    mine: tuple[int, ...], theirs: tuple[int, ...], q: Tensor, k: Tensor, sight: Sight
) -> Iterator[tuple[slice, slice, Tensor | None]]:
    """Rows of blocks of this rank's queries, each with the keys of a rank that any of them sees.

    The tensor says which of these keys are hidden from a row, as hidden_keys.

    Args:
        mine, theirs: place of the first token of each run that the two ranks hold.
        q, k: matrices of the queries and keys that a rank holds.
    """
    per_token = q.shape[1] // k.shape[1]
    length = k.shape[1] // len(mine)
    for (run, query), (other, key), first in product(
        enumerate(mine), enumerate(theirs), range(0, length, BLOCK)
    ):
        count = min(BLOCK, length - first)
        ahead = query + first - key
        start = 0 if sight.window is None else max(0, ahead - sight.window + 1)
        stop = min(length, ahead + count) if sight.causal else length
        if start < stop:
            at, below = run * length + first, other * length
            rows = slice(at * per_token, (at + count) * per_token)
            hidden = hidden_keys(ahead - start, count, stop - start, per_token, q.device, sight)
            yield rows, slice(below + start, below + stop), hidden


def hidden_keys(
    ahead: int, count: int, keys: int, per_token: int, device: torch.device, sight: Sight
) -> Tensor | None:
    """Which keys are hidden from the rows of some tokens, bool [count * per_token, keys], if any.

    Args:
        ahead: how many places the first token lies behind the first key.
    """
    reach = ahead + count if sight.window is None else sight.window
    if not sight.causal or (ahead >= keys - 1 and ahead + count <= reach):
        return None
    places = ahead + torch.arange(count * per_token, device=device)[:, None] // per_token
    distance = places - torch.arange(keys, device=device)
    return (distance < 0) | (distance >= reach)


def block_attention(
    q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, sight: Sight
) -> tuple[Tensor, Tensor]:
    """Attention of some queries over some of the keys, and the log of the sum of its weights.

    Shapes: q [N, R, E], k [N, T, E], v [N, T, F] -> [N, R, F] and [N, R, 1], in fp32.
    """
    scores = without(block_scores(q, k, sight), hidden)
    lse = scores.logsumexp(dim=-1, keepdim=True).clamp(min=NOTHING)
    weights = (scores - lse).exp().to(v.dtype)
    return torch.bmm(weights, v).float(), lse


def block_gradients(
    q: Tensor,
    dout: Tensor,
    lse: Tensor,
    rowsum: Tensor,
    k: Tensor,
    v: Tensor,
    hidden: Tensor | None,
    sight: Sight,
) -> tuple[Tensor, Tensor, Tensor]:
    """What the queries of a block get, its keys, and their values.

    Args:
        lse: log of the sum of the weights over the keys of all ranks, [N, R, 1].
        rowsum: of the result times its gradient, [N, R, 1].
    """
    scores = block_scores(q, k, sight)
    weights = (without(scores, hidden) - lse).exp()
    dv = torch.bmm(weights.to(v.dtype).transpose(1, 2), dout)
    change = torch.bmm(dout, v.transpose(1, 2)).float()
    change = weights * (change - rowsum) * sight.scale
    if sight.cap is not None:
        change = change * (1 - (scores / sight.cap) ** 2)
    change = change.to(q.dtype)
    return torch.bmm(change, k), torch.bmm(change.transpose(1, 2), q), dv


def without(scores: Tensor, hidden: Tensor | None) -> Tensor:
    """Scores, -inf where a key is hidden."""
    return scores if hidden is None else scores.masked_fill(hidden, float("-inf"))


def block_scores(q: Tensor, k: Tensor, sight: Sight) -> Tensor:
    """Scores in fp32 of all keys, seen or not, [N, R, T]."""
    scores = torch.bmm(q, k.transpose(1, 2)).float() * sight.scale
    return scores if sight.cap is None else sight.cap * torch.tanh(scores / sight.cap)


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
