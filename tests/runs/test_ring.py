"""Ring attention is attention over all tokens, whoever holds them."""

import pytest
import torch

from specc.runtime.pool import Pool
from tests.runs import ring_jobs as jobs

pytestmark = pytest.mark.run


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "kv", "width"), [(4, 4, 8), (4, 2, 6), (3, 1, 8)])
@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_every_rank_has_its_piece(
    pool: Pool, world: int, heads: int, kv: int, width: int, causal: bool
) -> None:
    for found in pool.run(jobs.pieces, heads, kv, width, causal, torch.float32, world=world):
        assert max(found.values()) < 2e-6, found


def test_lower_precision_keeps_its_sums_in_fp32(pool: Pool) -> None:
    for found in pool.run(jobs.pieces, 4, 2, 8, True, torch.bfloat16, world=4):
        assert max(found.values()) < 1e-2, found
