"""Classes and functions that tests/cases/parity/externs.spec names, none of which knows of ranks.

Each works on a piece of what its declaration lists under `split` and `sum`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GatedFeed(nn.Module):
    """A gated feed-forward layer that keeps its width, and a factor that is not a rank's own."""

    shift: Tensor

    def __init__(self, dim: int, width: int, gain: float = 1.0) -> None:
        super().__init__()
        self.width, self.gain = width, gain
        self.up = nn.Linear(dim, 2 * width)
        self.gate = nn.Linear(dim, width, bias=False)
        self.down = nn.Linear(width, dim, bias=False)
        self.scale = nn.Parameter(1 + 0.5 * torch.randn(dim))
        self.register_buffer("shift", 0.5 * torch.randn(dim))

    def forward(self, x: Tensor) -> Tensor:
        left, right = self.up(x).split(self.width, dim=-1)
        inside = F.silu(self.gate(x + self.shift)) * left + right.tanh()
        return self.gain * self.down(inside) * self.scale


class HeadMixer(nn.Module):
    """Mixes the features of each head with a matrix of its own, then with one that heads share."""

    def __init__(self, heads: int, size: int) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.randn(heads, size, size) / size**0.5)
        self.shared = nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        return self.shared(torch.einsum("bshe,hef->bshf", x, self.own)).tanh()


class Causal(nn.Module):
    """The mean of the tokens so far: needs all tokens."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        count = torch.arange(1, x.shape[1] + 1, device=x.device, dtype=x.dtype)
        return self.mix(x.cumsum(1) / count[:, None]).tanh()


def pooled(x: Tensor, weights: Tensor) -> Tensor:
    """Sum over heads and tokens of heads that are weighed."""
    return torch.einsum("bshe,h->be", x.tanh(), weights)


def token_sum(x: Tensor) -> Tensor:
    """The sum of all tokens."""
    return x.sum(dim=1)
