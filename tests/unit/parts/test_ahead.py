"""Batches come in order from a thread, one ahead; its errors and its end are those of the loop."""

import threading
import time
from collections.abc import Iterator

import pytest

from specc.parts.ahead import ahead


def numbers(count: int, drawn: list[int]) -> Iterator[tuple[int]]:
    for number in range(count):
        drawn.append(number)
        yield (number,)


def test_the_batches_are_the_same_in_the_same_order() -> None:
    assert list(ahead(numbers(5, []))) == [(0,), (1,), (2,), (3,), (4,)]
    assert list(ahead(numbers(0, []))) == []


def test_the_next_batch_and_no_more_is_drawn_while_one_is_in_use() -> None:
    drawn: list[int] = []
    batches = ahead(numbers(5, drawn))

    assert next(batches) == (0,)
    deadline = time.monotonic() + 10
    while drawn != [0, 1] and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.05)
    assert drawn == [0, 1]


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit("no such file")])
def test_an_error_of_the_thread_is_raised_in_the_loop(error: BaseException) -> None:
    def failing() -> Iterator[tuple[int]]:
        yield (0,)
        raise error

    batches = ahead(failing())
    assert next(batches) == (0,)
    with pytest.raises(type(error), match=str(error)):
        next(batches)


def test_leaving_the_loop_ends_the_thread() -> None:
    before = threading.active_count()
    batches = ahead(numbers(100, []))
    next(batches)
    assert threading.active_count() == before + 1

    batches.close()  # pyright: ignore[reportAttributeAccessIssue]  a generator
    assert threading.active_count() == before
