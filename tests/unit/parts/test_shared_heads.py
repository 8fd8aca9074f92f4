"""Key heads of a rank that has some of the query heads."""

import pytest
import torch

from specc.parts.attention import shared_heads
from specc.plan.tensor import shared_heads as planned


@pytest.mark.parametrize(
    ("heads", "kv", "ranks"), [(8, 4, 2), (8, 4, 8), (8, 2, 4), (12, 4, 6), (6, 1, 3), (12, 4, 2)]
)
def test_every_query_head_meets_the_key_head_of_its_group(heads: int, kv: int, ranks: int) -> None:
    keys = torch.arange(kv, dtype=torch.float32).view(1, 1, kv, 1)
    paired = keys.repeat_interleave(heads // kv, dim=2)
    mine = heads // ranks
    for rank in range(ranks):
        found = shared_heads(keys, rank * mine, mine, heads)
        assert found.shape[2] == planned(heads, kv, ranks)
        again = found.repeat_interleave(mine // found.shape[2], dim=2)
        assert torch.equal(again, paired[:, :, rank * mine : (rank + 1) * mine])


def test_gradients_reach_the_heads_that_are_used_and_no_other() -> None:
    keys = torch.randn(1, 2, 4, 3, requires_grad=True)
    shared_heads(keys, 2, 2, 12).sum().backward()
    grad = keys.grad
    assert grad is not None
    assert grad[0, 0, :, 0].tolist() == [1.0, 1.0, 0.0, 0.0]
