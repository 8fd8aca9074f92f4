"""Fixtures of all tests."""

from collections.abc import Iterator

import pytest

from specc.runtime.pool import Pool


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked `slow`, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if item not in slow]
        config.hook.pytest_deselected(items=slow)


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Ranks on this machine: `pool.run(job, ..., world=2)`; at most four, one thread each."""
    with Pool("gloo") as ranks:
        yield ranks
