"""A module that specs/extern.spec declares: a gated running mean over the sequence."""

import torch
from torch import nn


class Mixer(nn.Module):
    """Mixes tokens with those before them.

    Shapes: x [B, S, width] -> same.

    Args:
        state: width of the running mean.
    """

    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.inside = nn.Linear(width, 2 * state, bias=False)
        self.outside = nn.Linear(state, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x, each token mixed with the mean of those up to it."""
        value, gate = self.inside(x).chunk(2, dim=-1)
        count = torch.arange(1, x.shape[1] + 1, device=x.device, dtype=x.dtype)
        mean = value.cumsum(1) / count[:, None]
        return self.outside(mean * gate.sigmoid())
