"""Rotary position embedding, in both layouts of the two numbers that turn together."""

import math

import torch
from torch import Tensor


def rope_frequencies(dim: int, theta: float, device: torch.device | None = None) -> Tensor:
    """Angle by which each pair of dims turns from one token to the next, fp32 [dim / 2].

    Source: Su et al. 2021, "RoFormer", section 3.2.2, with theta = 10000 there.
    """
    exponents = torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim
    return theta**-exponents


def linear_frequencies(frequencies: Tensor, factor: float) -> Tensor:
    """Frequencies of positions divided by `factor` (Chen et al. 2023, "Position Interpolation")."""
    return frequencies / factor


def llama3_frequencies(
    frequencies: Tensor, factor: float, low: float, high: float, original: int
) -> Tensor:
    """Slow turns are slowed by `factor`, fast ones kept, those between blended.

    Args:
        low: pairs with fewer turns than this over `original` tokens are slowed.
        high: pairs with more turns than this are kept.
        original: sequence length that the unscaled frequencies were trained for.

    Source: Grattafiori et al. 2024, "The Llama 3 Herd of Models", and Meta's reference code.
    """
    turns = original * frequencies / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (kept + (1 - kept) / factor)


def rope_cos_sin(x: Tensor, frequencies: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of every angle for the tokens of x [.., T, H, E], each fp32 [T, 1, pairs]."""
    positions = torch.arange(start, start + x.shape[-3], device=x.device, dtype=torch.float32)
    angles = torch.outer(positions, frequencies)[:, None]
    return angles.cos(), angles.sin()


def rope(x: Tensor, frequencies: Tensor, start: int = 0) -> Tensor:
    """Turn dim i together with dim i + pairs, by position times frequency; in fp32.

    Shapes: [.., T, H, E] -> same. Dims of E beyond twice the number of frequencies stay.

    Args:
        start: position of the first of the T tokens.
    """
    cos, sin = rope_cos_sin(x, frequencies, start)
    pairs = frequencies.shape[0]
    a, b = x[..., :pairs].float(), x[..., pairs : 2 * pairs].float()
    turned = torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)
    return turned if 2 * pairs == x.shape[-1] else torch.cat((turned, x[..., 2 * pairs :]), dim=-1)


def rope_interleaved(x: Tensor, frequencies: Tensor, start: int = 0) -> Tensor:
    """Turn dim 2i together with dim 2i + 1, by position times frequency; in fp32.

    Shapes: [.., T, H, E] -> same. Dims of E beyond twice the number of frequencies stay.

    Args:
        start: position of the first of the T tokens.
    """
    cos, sin = rope_cos_sin(x, frequencies, start)
    width = 2 * frequencies.shape[0]
    a, b = x[..., 0:width:2].float(), x[..., 1:width:2].float()
    turned = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2).to(x.dtype)
    return turned if width == x.shape[-1] else torch.cat((turned, x[..., width:]), dim=-1)
