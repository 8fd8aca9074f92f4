"""Jobs of the tests of ring attention."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from specc.parts import ring, zigzag

PIECE = 12  # tokens of a rank
SCALE = 0.4


def pieces(
    heads: int,
    kv: int,
    width: int,
    dtype: torch.dtype,
    settings: dict[str, Any],
    *,
    in_zigzag: bool = False,
) -> dict[str, float]:
    """Largest errors of one rank's piece against attention over all tokens in float64.

    Args:
        settings: of attention: causal, window, cap.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(3)
    shapes = [(2, PIECE * n, *rest) for rest in ((heads, 8), (kv, 8), (kv, width), (heads, width))]
    *whole, wanted = [
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
    ]
    exact = [x.clone().requires_grad_() for x in whole]
    true = attention_of_all(exact[0], exact[1], exact[2], **settings)
    (true * wanted).sum().backward()
    mine = slice(PIECE * rank, PIECE * rank + PIECE)
    q, k, v = (x[:, mine].to(dtype).requires_grad_() for x in whole)
    # torch's decorator has no type of its own
    own: Any = zigzag.zigzag_attention if in_zigzag else ring.ring_attention
    given = {
        name: setting for name, setting in settings.items() if not in_zigzag or name != "causal"
    }
    old, ring.BLOCK = ring.BLOCK, 5  # several blocks, the last one short
    try:
        out = own(q, k, v, dist.group.WORLD, scale=SCALE, **given)
        (out * wanted[:, mine].to(dtype)).sum().backward()
    finally:
        ring.BLOCK = old
    found = {"out": out, "q": q.grad, "k": k.grad, "v": v.grad}
    expected = {"out": true, "q": exact[0].grad, "k": exact[1].grad, "v": exact[2].grad}
    return {name: error(found[name], expected[name], mine) for name in found}


def attention_of_all(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    window: int | None = None,
    cap: float | None = None,
) -> Tensor:
    """Attention with all scores at once, by its definition."""
    times = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(times, dim=2) for x in (k, v))
    scores = torch.einsum("bshe,bthe->bhst", q, k) * SCALE
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    distance = torch.arange(q.shape[1])[:, None] - torch.arange(k.shape[1])
    if causal or window is not None:
        scores = scores.masked_fill(distance < 0, float("-inf"))
    if window is not None:
        scores = scores.masked_fill(distance >= window, float("-inf"))
    return torch.einsum("bhst,bthf->bshf", scores.softmax(dim=-1), v)


def error(found: Tensor | None, expected: Tensor | None, mine: slice) -> float:
    assert found is not None
    assert expected is not None
    piece = expected[:, mine]
    return ((found.double() - piece).norm() / piece.norm()).item()


def ringed(limits: tuple[dict[str, Any], ...]) -> dict[str, dict[str, float]]:
    """The errors under each of some settings, by their text."""
    return {str(each): pieces(4, 2, 6, torch.float32, each) for each in limits}


def zigzagged(limits: tuple[dict[str, Any], ...]) -> dict[str, dict[str, float]]:
    """The same in zigzag order."""
    return {str(each): pieces(4, 2, 6, torch.float32, each, in_zigzag=True) for each in limits}


def halves() -> tuple[list[float], list[float]]:
    """Which halves this rank holds in zigzag order, of the first and of the last sequence.

    The tokens bear the number of their half, and 1000 more in the last sequence.
    """
    rank, group = dist.get_rank(), dist.group.WORLD
    assert group is not None
    numbers = torch.tensor([2 * rank, 2 * rank, 2 * rank + 1, 2 * rank + 1.0])
    x = torch.stack((numbers, numbers + 1000))[..., None, None].expand(-1, -1, 2, 3)
    there = zigzag.pieces_to_zigzag(x, group)
    assert torch.equal(zigzag.zigzag_to_pieces(there, group), x)
    return there[0, :, 0, 0].tolist(), there[1, :, 1, 2].tolist()


def work() -> list[int]:
    """How many scores this rank computes in zigzag order, for each hop."""
    rank, n = dist.get_rank(), dist.get_world_size()
    half = PIECE // 2
    firsts = [(each * half, (2 * n - 1 - each) * half) for each in range(n)]
    found, matrix = [0] * n, torch.empty(1, PIECE, 1)
    for hop in range(n):
        for rows, keys, _ in ring.blocks(
            firsts[rank], firsts[rank - hop], matrix, matrix, ring.Sight(1.0, causal=True)
        ):
            found[hop] += (rows.stop - rows.start) * (keys.stop - keys.start)
    return found
