"""The shuffle is a bijection, and another one for each key."""

import pytest

from specc.parts.permutation import permute


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 17, 100, 255, 1000, 1025])
def test_every_index_is_visited_once(n: int) -> None:
    assert sorted(permute(index, n, 0, "window", 3) for index in range(n)) == list(range(n))


@pytest.mark.parametrize("other", [(1, 0), (0, 1)])
def test_another_seed_or_epoch_is_another_order(other: tuple[int, int]) -> None:
    first = [permute(index, 100, 0, 0) for index in range(100)]
    second = [permute(index, 100, *other) for index in range(100)]

    assert first != list(range(100))
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 10


def test_the_order_is_the_same_on_every_machine() -> None:
    assert [permute(index, 10, 0, 0) for index in range(10)] == [9, 8, 2, 7, 1, 5, 3, 6, 4, 0]


def test_all_of_a_large_range_is_reached_evenly() -> None:
    n = 10**12
    means = [sum(permute(index, n, seed) for index in range(1000)) / 1000 / n for seed in range(5)]

    assert all(0.45 < mean < 0.55 for mean in means), means  # five standard errors
