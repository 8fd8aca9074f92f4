"""Attention over all tokens, in a sliding window, or with soft-capped scores."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, scale: float | None = None
) -> Tensor:
    """Scaled dot-product attention; H / K neighbouring query heads share one key head.

    Shapes: q [B, S, H, E], k [B, T, K, E], v [B, T, K, F] -> [B, S, H, F]. With causal, S = T.

    Args:
        scale: factor on the scores, 1 / sqrt(E) when None.
    """
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    grouped = q.shape[1] != k.shape[1]
    out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
    return out.transpose(1, 2)


def window_attention(
    q: Tensor, k: Tensor, v: Tensor, window: int | None = None, scale: float | None = None
) -> Tensor:
    """Causal attention in which a token sees itself and the window - 1 tokens before it.

    The tokens are cut into blocks as long as the window: a block sees itself and the block before
    it, so time and memory grow with S * window and one small mask serves all blocks.

    Shapes: as attention, with S = T. A window of None is plain causal attention.
    """
    S = q.shape[1]
    if window is None or window >= S:
        return attention(q, k, v, causal=True, scale=scale)
    first = attention(q[:, :window], k[:, :window], v[:, :window], causal=True, scale=scale)

    # Zeros fill the last block; only the queries that fill it, which are cut off again, see them.
    q, k, v = (F.pad(x, (0, 0, 0, 0, 0, -S % window)) for x in (q, k, v))
    q = q[:, window:].unflatten(1, (-1, window)).flatten(0, 1)
    k, v = with_block_before(k, window), with_block_before(v, window)
    query = torch.arange(window, 2 * window, device=q.device)[:, None]
    key = torch.arange(2 * window, device=q.device)
    mask = (key <= query) & (key > query - window)
    rest = F.scaled_dot_product_attention(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        attn_mask=mask[None, None],
        scale=scale,
        enable_gqa=q.shape[2] != k.shape[2],
    )
    rest = rest.transpose(1, 2).unflatten(0, (first.shape[0], -1)).flatten(1, 2)
    return torch.cat((first, rest[:, : S - window]), dim=1)


def with_block_before(x: Tensor, size: int) -> Tensor:
    """Each block of `size` tokens but the first, behind the block before it.

    Shapes: [B, n * size, K, E] -> [B * (n - 1), 2 * size, K, E].
    """
    blocks = x.unflatten(1, (-1, size))
    return torch.cat((blocks[:, :-1], blocks[:, 1:]), dim=2).flatten(0, 1)


def capped_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cap: float,
    window: int | None = None,
    causal: bool = True,
    scale: float | None = None,
    block: int = 512,
) -> Tensor:
    """Attention whose scores s become cap * tanh(s / cap) in fp32 before the softmax.

    The scores exist for `block` queries at a time, in the backward pass too.

    Shapes: as attention. With causal or a window, S = T.

    Args:
        window: as in window_attention, which is causal; None lets a query see all keys.

    Source: Gemma Team 2024, "Gemma 2", section 2 (logit soft-capping).
    """
    S, T = q.shape[1], k.shape[1]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    causal = causal or window is not None
    out = []
    for first in range(0, S, block):
        last = min(first + block, S)
        # keys that no query of this block sees are left out
        start = 0 if window is None else max(0, first - window + 1)
        stop = last if causal else T
        mask = window_mask(range(first, last), range(start, stop), window, q) if causal else None
        part = checkpoint(
            capped_scores_attention,
            q[:, first:last],
            k[:, start:stop],
            v[:, start:stop],
            cap,
            scale,
            mask,
            use_reentrant=False,
            preserve_rng_state=False,  # nothing in it is random
        )
        out.append(part)
    return torch.cat(out, dim=1)


def window_mask(queries: range, keys: range, window: int | None, like: Tensor) -> Tensor:
    """Which key a query may see, bool [queries, keys]: none after it, at most window - 1 before."""
    query = torch.arange(queries.start, queries.stop, device=like.device)[:, None]
    key = torch.arange(keys.start, keys.stop, device=like.device)
    mask = key <= query
    return mask if window is None else mask & (key > query - window)


def capped_scores_attention(
    q: Tensor, k: Tensor, v: Tensor, cap: float, scale: float, mask: Tensor | None
) -> Tensor:
    """Attention with soft-capped scores, all scores at once; mask is bool [S, T]."""
    q = q.unflatten(2, (k.shape[2], -1))  # [B, S, K, H / K, E]
    scores = torch.einsum("bskge,btke->bkgst", q, k).float()
    scores = cap * torch.tanh(scores * (scale / cap))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1).to(v.dtype)
    return torch.einsum("bkgst,btkf->bskgf", weights, v).flatten(2, 3)


def shared_heads(x: Tensor, start: int, count: int, heads: int) -> Tensor:
    """Of all key heads those that `count` of all `heads` query heads share, from `start` on.

    Where the groups of query heads that share one do not end where these do, every query head
    gets a copy of its own.

    Shapes: [B, T, K, E] -> [B, T, k, E], k divides count.
    """
    group = heads // x.shape[2]
    if count % group == 0 or group % count == 0:
        return x.narrow(2, start // group, max(1, count // group))
    index = torch.arange(start, start + count, device=x.device) // group
    return x.index_select(2, index)
