"""Dropout whose mask depends on a key and the global position of each element, not on the rank."""

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from specc.parts.keyed import key_number


class Dropout(nn.Module):
    """Set elements to zero with probability p and scale the rest by 1 / (1 - p).

    The mask is computed again from the key where the forward pass is; however a value is split over
    ranks, an element is dropped on all of them or on none. In eval mode the input is returned.

    Args:
        p: probability of a zero, 0 <= p < 1.
        start: for each dim of the input, the global index at which this rank's part begins.
    """

    key: Tensor

    def __init__(self, p: float, start: tuple[int, ...]) -> None:
        super().__init__()
        self.p = p
        self.start = start
        self.register_buffer("key", torch.zeros((), dtype=torch.int32), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """This rank's part of the value, with zeros in it."""
        if not self.training or self.p == 0.0:
            return x
        # 31 bits are compared, for the sign bit would make it a signed comparison
        dropped = (position_bits(self.key, self.start, x.shape) & 0x7FFFFFFF) < int(self.p * 2**31)
        return (x * (1.0 / (1.0 - self.p))).masked_fill(dropped, 0.0)


def position_bits(key: Tensor, start: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """32 random bits for each element of a part, a function of the key and its global position.

    In int32, which wraps: some accelerators have slow 64-bit multiplication, or none.
    """
    bits = key
    for dim, (first, size) in enumerate(zip(start, shape, strict=True)):
        index = torch.arange(first, first + size, dtype=torch.int32, device=key.device)
        bits = mix_bits(bits ^ index.view(-1, *[1] * (len(shape) - dim - 1)))
    return bits


def mix_bits(x: Tensor) -> Tensor:
    """A bijection of int32 in which every bit of x moves about half of the bits of the result.

    Source: the constants and shifts of Chris Wellons' "lowbias32", 2018.
    """
    x = (x ^ ((x >> 16) & 0xFFFF)) * 0x7FEB352D
    x = (x ^ ((x >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return x ^ ((x >> 16) & 0xFFFF)


def seed_dropout(model: nn.Module, seed: int, index: int) -> None:
    """Give every Dropout of the model its key for one forward pass.

    Args:
        index: number of this microbatch since the start of training, the same on every rank.
    """
    if isinstance(model, DistributedDataParallel):
        model = model.module  # names are those of the model itself
    for name, module in model.named_modules():
        if isinstance(module, Dropout):
            module.key.fill_(key_number(seed, name, index) % 2**32 - 2**31)
