"""Attention in all its forms against softmax over explicitly masked scores in float64."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from specc.parts.attention import attention, capped_attention, window_attention

QKV = tuple[Tensor, Tensor, Tensor]
HEADS = pytest.mark.parametrize(("H", "K"), [(4, 4), (4, 2), (4, 1)], ids=["mha", "gqa", "mqa"])


def draw(S: int, T: int, H: int, K: int, E: int = 8, F: int = 8) -> QKV:
    generator = torch.Generator().manual_seed(S + 31 * T + 7 * H + K)
    q, k, v = (
        torch.randn(shape, generator=generator).requires_grad_()
        for shape in ((2, S, H, E), (2, T, K, E), (2, T, K, F))
    )
    return q, k, v


def gradients(out: Tensor, qkv: QKV) -> tuple[Tensor, ...]:
    """Of a sum in which every element of `out` has its own weight."""
    weights = torch.arange(out.numel(), dtype=torch.float64).cos().view(out.shape)
    return torch.autograd.grad(out, qkv, weights.to(out.dtype))


def expected(
    qkv: QKV, mask: Tensor | None, scale: float | None = None, cap: float | None = None
) -> tuple[Tensor, ...]:
    """Attention written out, and its gradients: query head h reads key head h // (H / K)."""
    q, k, v = (x.detach().double().requires_grad_() for x in qkv)
    times = q.shape[2] // k.shape[2]
    heads = []
    for h in range(q.shape[2]):
        scores = q[:, :, h] @ k[:, :, h // times].transpose(1, 2)
        scores = scores * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
        scores = scores if cap is None else cap * torch.tanh(scores / cap)
        scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        heads.append(scores.softmax(-1) @ v[:, :, h // times])
    out = torch.stack(heads, dim=2)
    return out, *gradients(out, (q, k, v))


def check(out: Tensor, qkv: QKV, reference: tuple[Tensor, ...]) -> None:
    """Same values, same gradients."""
    for actual, wanted in zip((out, *gradients(out, qkv)), reference, strict=True):
        torch.testing.assert_close(actual.double(), wanted, atol=1e-5, rtol=1e-5)


def causal_mask(S: int, window: int | None = None) -> Tensor:
    i, j = torch.arange(S)[:, None], torch.arange(S)
    return (j <= i) if window is None else (j <= i) & (i - j < window)


@HEADS
@pytest.mark.parametrize("scale", [None, 0.3])
def test_causal_attention(H: int, K: int, scale: float | None) -> None:
    qkv = draw(9, 9, H, K)
    reference = expected(qkv, causal_mask(9), scale)

    check(attention(*qkv, causal=True, scale=scale), qkv, reference)


@HEADS
def test_attention_to_more_keys_than_queries_with_wider_values(H: int, K: int) -> None:
    qkv = draw(5, 11, H, K, E=8, F=12)
    reference = expected(qkv, None)

    out = attention(*qkv)

    assert out.shape == (2, 5, H, 12)
    check(out, qkv, reference)


@HEADS
@pytest.mark.parametrize("window", [1, 2, 3, 4, 6, 11, 12, 40, None])
def test_a_window_is_the_token_and_those_before_it(H: int, K: int, window: int | None) -> None:
    qkv = draw(12, 12, H, K)
    reference = expected(qkv, causal_mask(12, window))

    check(window_attention(*qkv, window=window), qkv, reference)


@pytest.mark.parametrize("S", [5, 7, 8, 9, 10, 11])
def test_a_window_need_not_divide_the_sequence(S: int) -> None:
    qkv = draw(S, S, 2, 1)
    reference = expected(qkv, causal_mask(S, 4), scale=0.5)

    check(window_attention(*qkv, window=4, scale=0.5), qkv, reference)


@HEADS
@pytest.mark.parametrize("window", [None, 1, 5, 50])
@pytest.mark.parametrize("block", [4, 100])
def test_scores_are_capped(H: int, K: int, window: int | None, block: int) -> None:
    qkv = draw(13, 13, H, K)
    reference = expected(qkv, causal_mask(13, window), scale=1.5, cap=2.0)

    check(capped_attention(*qkv, 2.0, window, scale=1.5, block=block), qkv, reference)


def test_capped_attention_without_a_mask_sees_every_key() -> None:
    qkv = draw(7, 10, 4, 2, E=8, F=4)
    reference = expected(qkv, None, cap=1.0)

    check(capped_attention(*qkv, 1.0, causal=False, block=3), qkv, reference)


def test_a_high_cap_changes_nothing() -> None:
    qkv = draw(8, 8, 4, 2)

    torch.testing.assert_close(capped_attention(*qkv, 1e6), attention(*qkv, causal=True))


def largest_saved(call: Callable[[], Tensor]) -> int:
    """Elements of the largest tensor that a forward pass keeps for its backward pass."""
    sizes = [0]

    def note(x: Tensor) -> Tensor:
        sizes.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
        call()
    return max(sizes)


def test_no_pass_keeps_a_score_for_every_pair_of_tokens() -> None:
    S = 256
    qkv = draw(S, S, 1, 1)

    assert largest_saved(lambda: capped_attention(*qkv, 5.0, block=16)) < S * S / 2
    assert largest_saved(lambda: window_attention(*qkv, window=8)) < S * S / 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_dtype_of_the_input_is_that_of_the_output(dtype: torch.dtype) -> None:
    q, k, v = (x.detach().to(dtype) for x in draw(12, 12, 4, 2))
    wide = expected((q, k, v), causal_mask(12, 5), cap=3.0)[0]

    out = capped_attention(q, k, v, 3.0, 5)

    assert out.dtype == window_attention(q, k, v, window=5).dtype == dtype
    torch.testing.assert_close(out.double(), wide, atol=2e-2, rtol=2e-2)
