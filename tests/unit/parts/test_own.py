"""Modules that draw their own weights, on one rank."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from specc.parts.init import init_weights
from specc.parts.own import init_own, local_module, own_module
from specc.parts.split_layers import segment_pieces, split_parameters


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


class Fused(nn.Module):
    """Two segments side by side in a weight of a part inside it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.inside = nn.Linear(3, 2 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert not isinstance(self.inside.weight, DTensor)
        left, right = self.inside(x).split(self.width, dim=-1)
        return left * right


@pytest.mark.usefixtures("world_of_one")
def test_forward_sees_plain_tensors_and_names_stay() -> None:
    segments = {"inside.weight": (0, (4, 4)), "inside.bias": (0, (4, 4))}
    made = local_module(lambda: Fused(4), segments, dist.group.WORLD)
    model = nn.ModuleDict({"own": made})
    split_parameters(model, init_device_mesh("cpu", (1,)), {}, ["own"])
    init_own(model, {"own": lambda: Fused(4)}, 0)
    plain = nn.ModuleDict({"own": Fused(4)})
    init_own(plain, {"own": lambda: Fused(4)}, 0)
    x = torch.randn(2, 3)
    assert torch.equal(made(x), plain["own"](x))
    assert list(model.state_dict()) == list(plain.state_dict())
    assert isinstance(made.get_parameter("inside.weight"), DTensor)
    with pytest.raises(TypeError):  # parameters are back after a forward that fails
        made(None)
    assert isinstance(made.get_parameter("inside.weight"), DTensor)


def test_a_rank_has_its_piece_of_each_segment() -> None:
    whole = torch.arange(12).view(1, 12)
    assert segment_pieces(whole, (4, 8), 1, 2, dim=1).tolist() == [[2, 3, 8, 9, 10, 11]]
