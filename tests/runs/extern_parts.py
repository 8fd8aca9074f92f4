"""A class and a function that the spec of test_externs.py names."""

import torch
from torch import Tensor, nn


class Scaled(nn.Module):
    """Features scaled by weights that start at ones and a buffer that is drawn."""

    def __init__(self, width: int, mode: str, parts: tuple[int, ...]) -> None:
        super().__init__()
        assert mode == "learned"
        self.weight = nn.Parameter(torch.ones(width))
        self.inner = nn.Linear(width, sum(parts) * width, bias=False)
        self.register_buffer("shift", torch.randn(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)[..., : x.shape[-1]] * self.weight + self.shift


def gate(x: Tensor, y: Tensor) -> Tensor:
    return x * torch.sigmoid(y)
