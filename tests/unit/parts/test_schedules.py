"""Learning rates at the edges: the first step, the end of the warmup, the last step."""

import itertools
import math
from collections.abc import Callable

import pytest

from specc.parts.schedules import (
    constant_schedule,
    cosine_schedule,
    inverse_sqrt_schedule,
    linear_schedule,
    wsd_schedule,
)

PEAK, STEPS = 3e-4, 100

SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": lambda step, warmup: constant_schedule(step, PEAK, warmup),
    "linear": lambda step, warmup: linear_schedule(step, PEAK, STEPS, warmup, 0.1),
    "cosine": lambda step, warmup: cosine_schedule(step, PEAK, STEPS, warmup, 0.1),
    "wsd": lambda step, warmup: wsd_schedule(step, PEAK, STEPS, 20, warmup, 0.1),
    "inverse_sqrt": lambda step, warmup: inverse_sqrt_schedule(step, PEAK, warmup),
}
ALL = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)


@ALL
def test_without_warmup_the_first_step_has_the_peak(schedule: Callable[[int, int], float]) -> None:
    assert schedule(0, 0) == PEAK


@ALL
def test_the_warmup_rises_in_equal_parts_to_the_peak(
    schedule: Callable[[int, int], float],
) -> None:
    rates = [schedule(step, 10) for step in range(10)]

    assert rates == pytest.approx([PEAK * part / 10 for part in range(1, 11)])
    assert schedule(9, 10) == PEAK


@ALL
def test_after_the_warmup_it_never_rises_nor_falls_below_the_end(
    schedule: Callable[[int, int], float],
) -> None:
    rates = [schedule(step, 10) for step in range(9, STEPS)]

    assert all(0.1 * PEAK <= b <= a for a, b in itertools.pairwise(rates))


@pytest.mark.parametrize("name", ["linear", "cosine", "wsd"])
def test_the_step_after_the_last_would_have_the_end(name: str) -> None:
    assert SCHEDULES[name](STEPS, 10) == pytest.approx(0.1 * PEAK)
    assert SCHEDULES[name](STEPS - 1, 10) > 0.1 * PEAK


def test_the_last_step_is_trained_even_where_the_end_is_0() -> None:
    assert linear_schedule(STEPS - 1, PEAK, STEPS) == pytest.approx(PEAK / STEPS)
    assert cosine_schedule(STEPS - 1, PEAK, STEPS) > 0
    assert wsd_schedule(STEPS - 1, PEAK, STEPS, 20) == pytest.approx(PEAK / 20)


def test_halfway_between_peak_and_end() -> None:
    assert linear_schedule(55, PEAK, STEPS, 10, 0.2) == pytest.approx(0.6 * PEAK)
    assert cosine_schedule(55, PEAK, STEPS, 10, 0.2) == pytest.approx(0.6 * PEAK)
    assert wsd_schedule(90, PEAK, STEPS, 20, 10, 0.2) == pytest.approx(0.6 * PEAK)


def test_wsd_stays_at_the_peak_until_the_decay() -> None:
    assert {wsd_schedule(step, PEAK, STEPS, 20, 10) for step in range(9, 81)} == {PEAK}
    assert wsd_schedule(81, PEAK, STEPS, 20, 10) < PEAK


def test_inverse_sqrt_halves_when_the_steps_are_four_times_the_warmup() -> None:
    assert inverse_sqrt_schedule(39, PEAK, 10) == pytest.approx(PEAK / 2)
    assert inverse_sqrt_schedule(3, PEAK, 0) == pytest.approx(PEAK / math.sqrt(4))


def test_a_warmup_as_long_as_the_training_is_all_warmup() -> None:
    assert cosine_schedule(STEPS - 1, PEAK, STEPS, STEPS) == PEAK
