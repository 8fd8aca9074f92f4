"""Rotary embedding against the multiplication of complex numbers in float64."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from specc.parts.rope import (
    linear_frequencies,
    llama3_frequencies,
    rope,
    rope_frequencies,
    rope_interleaved,
)

LAYOUTS = pytest.mark.parametrize("turn", [rope, rope_interleaved])


def turned(pairs: Tensor, frequencies: Tensor, start: int) -> Tensor:
    """Complex [B, T, H, E / 2] times e ** (i * position * frequency)."""
    positions = torch.arange(start, start + pairs.shape[1], dtype=torch.float64)
    angles = torch.outer(positions, frequencies.double())
    return pairs * torch.polar(torch.ones_like(angles), angles)[:, None]


def draw(T: int = 6, E: int = 16) -> Tensor:
    return torch.randn(2, T, 3, E, generator=torch.Generator().manual_seed(E))


@pytest.mark.parametrize("theta", [1e4, 5e5])
def test_frequencies_fall_from_one_to_almost_the_inverse_of_theta(theta: float) -> None:
    expected = [theta ** (-2 * i / 16) for i in range(8)]

    actual = rope_frequencies(16, theta)

    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, torch.tensor(expected))


@pytest.mark.parametrize("start", [0, 1000])
def test_halves_turn_as_complex_numbers(start: int) -> None:
    x, frequencies = draw(), rope_frequencies(16, 1e4)
    expected = turned(torch.complex(*x.double().chunk(2, dim=-1)), frequencies, start)

    actual = rope(x, frequencies, start).double()

    torch.testing.assert_close(torch.complex(*actual.chunk(2, -1)), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("start", [0, 1000])
def test_neighbours_turn_as_complex_numbers(start: int) -> None:
    x, frequencies = draw(), rope_frequencies(16, 1e4)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)))
    expected = torch.view_as_real(turned(pairs, frequencies, start)).flatten(-2)

    actual = rope_interleaved(x, frequencies, start).double()

    torch.testing.assert_close(actual, expected, atol=1e-4, rtol=0)


@LAYOUTS
def test_a_score_depends_on_the_distance_alone(turn: Callable[..., Tensor]) -> None:
    q, k = draw(T=4), draw(T=4).flip(0)
    frequencies = rope_frequencies(16, 1e4)

    def scores(start: int) -> Tensor:
        turned_q, turned_k = turn(q, frequencies, start), turn(k, frequencies, start)
        return torch.einsum("bshe,bthe->bhst", turned_q, turned_k)

    torch.testing.assert_close(scores(0), scores(77), atol=1e-4, rtol=1e-4)


@LAYOUTS
def test_parts_of_a_sequence_turn_as_the_whole_to_the_bit(turn: Callable[..., Tensor]) -> None:
    x, frequencies = draw(T=12), rope_frequencies(16, 5e5)
    parts = [turn(part, frequencies, 100 + 4 * i) for i, part in enumerate(x.split(4, dim=1))]

    assert torch.equal(turn(x, frequencies, 100), torch.cat(parts, dim=1))


@LAYOUTS
def test_only_the_first_dims_turn_when_there_are_fewer_frequencies(
    turn: Callable[..., Tensor],
) -> None:
    x, frequencies = draw(E=24), rope_frequencies(16, 1e4)

    actual = turn(x, frequencies, 3)

    assert torch.equal(actual[..., :16], turn(x[..., :16], frequencies, 3))
    assert torch.equal(actual[..., 16:], x[..., 16:])


@LAYOUTS
def test_bf16_is_turned_in_fp32(turn: Callable[..., Tensor]) -> None:
    x, frequencies = draw().bfloat16(), rope_frequencies(16, 1e4)

    actual = turn(x, frequencies, 5000)

    assert torch.equal(actual, turn(x.float(), frequencies, 5000).bfloat16())


@LAYOUTS
def test_the_gradient_turns_back(turn: Callable[..., Tensor]) -> None:
    x, frequencies = draw().requires_grad_(), rope_frequencies(16, 1e4)
    turn(x, frequencies, 9).backward(turn(x.detach(), frequencies, 9))

    torch.testing.assert_close(x.grad, x.detach())


def test_linear_scaling_stretches_positions() -> None:
    x, frequencies = draw(T=1), rope_frequencies(16, 1e4)

    stretched = rope(x, linear_frequencies(frequencies, 4.0), 8)

    torch.testing.assert_close(stretched, rope(x, frequencies, 2))


def llama3_one(frequency: float, factor: float, low: float, high: float, original: int) -> float:
    """The rule for one frequency, by wavelengths."""
    wavelength = 2 * math.pi / frequency
    if wavelength < original / high:
        return frequency
    if wavelength > original / low:
        return frequency / factor
    smooth = (original / wavelength - low) / (high - low)
    return (1 - smooth) * frequency / factor + smooth * frequency


def test_llama3_scaling_keeps_fast_turns_slows_slow_ones_and_blends_between() -> None:
    frequencies = rope_frequencies(128, 5e5)
    expected = [llama3_one(f, 8.0, 1.0, 4.0, 8192) for f in frequencies.tolist()]

    actual = llama3_frequencies(frequencies, 8.0, 1.0, 4.0, 8192)

    torch.testing.assert_close(actual, torch.tensor(expected))
    kinds = {round(new / old, 3) for new, old in zip(expected, frequencies.tolist(), strict=True)}
    assert {1.0, 0.125} < kinds
