"""Repeated key heads keep the pairs of grouped attention; the exchange itself needs ranks."""

import math

import pytest
import torch

from specc.parts.attention import attention
from specc.parts.ulysses import repeat_heads


@pytest.mark.parametrize(("H", "K", "n"), [(8, 2, 4), (8, 1, 4), (6, 2, 3), (12, 4, 6), (8, 8, 4)])
def test_each_share_of_the_heads_attends_as_it_does_in_the_whole(H: int, K: int, n: int) -> None:
    q, k, v = torch.randn(1, 5, H, 4), torch.randn(1, 5, K, 4), torch.randn(1, 5, K, 4)
    times = math.lcm(K, n) // K
    repeated = (repeat_heads(k, times), repeat_heads(v, times))

    shares = [
        attention(*(x.chunk(n, dim=2)[rank] for x in (q, *repeated)), causal=True)
        for rank in range(n)
    ]

    torch.testing.assert_close(torch.cat(shares, dim=2), attention(q, k, v, causal=True))


def test_the_gradient_of_a_head_is_the_sum_over_its_copies() -> None:
    x = torch.randn(2, 3, 2, 4, requires_grad=True)
    weights = torch.randn(2, 3, 6, 4)
    (repeat_heads(x, 3) * weights).sum().backward()

    torch.testing.assert_close(x.grad, weights.unflatten(2, (2, 3)).sum(3))
