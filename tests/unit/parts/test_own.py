"""Modules that draw their own weights, on one rank."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from specc.parts.init import init_weights
from specc.parts.own import init_own, own_module


class Own(nn.Module):
    """Reads a value while it is made, and keeps something that is not saved."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        steps = [step.item() for step in torch.linspace(0, 1, 3)]
        self.weight = nn.Parameter(torch.randn(width) * steps[2])
        self.tied = self.weight
        self.register_buffer("saved", torch.randn(width))
        self.register_buffer("cache", torch.arange(3), persistent=False)


def model(width: int = 4) -> nn.Module:
    with torch.device("meta"):
        layers = nn.ModuleList(own_module(lambda: Own(width)) for _ in range(2))
        return nn.ModuleDict({"layers": layers, "head": nn.Linear(4, 2, bias=False)})


def test_each_module_has_weights_and_buffers_by_its_name() -> None:
    made, other = (model().to_empty(device="cpu") for _ in range(2))
    before = torch.random.get_rng_state()
    names = init_own(made, {"layers.*": Own}, 0)
    assert torch.equal(torch.random.get_rng_state(), before)
    first, second = (made.get_parameter(f"layers.{at}.weight") for at in range(2))
    assert not torch.equal(first, second)
    assert made.get_buffer("layers.1.cache").tolist() == [0, 1, 2]
    init_weights(made, {"head.weight": lambda r, c, _: torch.ones(r, c)}, 0, skip=names)
    init_own(other, {"layers.1": Own}, 0)
    assert torch.equal(other.get_parameter("layers.1.weight"), second)


def test_tensors_of_other_shapes_are_said() -> None:
    with pytest.raises(ValueError, match=r"layers\.0\.weight is \[2\] here, and \[4\] whole"):
        init_own(model(2), {"layers.*": Own}, 0)
