"""Root-mean-square normalization over the last dim."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Divide by the root mean square of the last dim, multiply by offset + weight; all in fp32.

    Shapes: [.., dim] -> same, in the dtype of the input.

    Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
    """

    def __init__(self, dim: int, eps: float, offset: float = 0.0) -> None:
        super().__init__()
        self.eps = eps
        self.offset = offset
        self.weight = nn.Parameter(torch.full((dim,), 1.0 - offset))

    def forward(self, x: Tensor) -> Tensor:
        """x, normalized."""
        weight = self.weight.float() + self.offset if self.offset else self.weight.float()
        return F.rms_norm(x.float(), weight.shape, weight, self.eps).to(x.dtype)
