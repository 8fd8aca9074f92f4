"""The held-out loss is the mean over the terms of all ranks, however many each one has."""

import pytest

from specc.runtime.pool import Pool
from tests.runs import evaluate_jobs as jobs

pytestmark = pytest.mark.run


def test_terms_count_alike_wherever_they_are(pool: Pool) -> None:
    assert pool.run(jobs.mean_of_ranks, world=2) == [5.0, 5.0]
