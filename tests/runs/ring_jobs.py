"""Jobs of the tests of ring attention."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from specc.parts import ring
from specc.parts.attention import attention


def pieces(heads: int, kv: int, width: int, causal: bool, dtype: torch.dtype) -> dict[str, float]:
    """Largest errors of one rank's piece against attention over all tokens in float64."""
    rank, n = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(3)
    shapes = ((2, 12 * n, heads, 8), (2, 12 * n, kv, 8), (2, 12 * n, kv, width))
    whole = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    wanted = torch.randn((2, 12 * n, heads, width), generator=generator, dtype=torch.float64)
    exact = [x.clone().requires_grad_() for x in whole]
    true = attention(exact[0], exact[1], exact[2], causal=causal, scale=0.4)
    (true * wanted).sum().backward()
    mine = slice(12 * rank, 12 * rank + 12)
    q, k, v = (x[:, mine].to(dtype).requires_grad_() for x in whole)
    group = dist.group.WORLD
    assert group is not None
    old, ring.BLOCK = ring.BLOCK, 5  # several blocks, the last one short
    try:
        own: Any = ring.ring_attention  # torch's decorator has no type of its own
        out = own(q, k, v, group, causal, scale=0.4)
        (out * wanted[:, mine].to(dtype)).sum().backward()
    finally:
        ring.BLOCK = old
    found = {"out": out, "q": q.grad, "k": k.grad, "v": v.grad}
    expected = {"out": true, "q": exact[0].grad, "k": exact[1].grad, "v": exact[2].grad}
    return {name: error(found[name], expected[name], mine) for name in found}


def error(found: Tensor | None, expected: Tensor | None, mine: slice) -> float:
    assert found is not None
    assert expected is not None
    piece = expected[:, mine]
    return ((found.double() - piece).norm() / piece.norm()).item()
