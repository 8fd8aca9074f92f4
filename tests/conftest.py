"""Fixtures of all tests."""

from collections.abc import Iterator

import pytest

from specc.runtime.pool import Pool


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Ranks on this machine: `pool.run(job, ..., world=2)`; at most four, one thread each."""
    with Pool("gloo") as ranks:
        yield ranks
