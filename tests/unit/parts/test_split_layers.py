"""Layers over pieces, on one rank: what does not need a second one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from specc.parts.losses import cross_entropy, split_cross_entropy
from specc.parts.split_layers import LocalLayerNorm, LocalLinear, VocabEmbedding, split_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """A process group of one rank."""
    store = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Model(nn.Module):
    """Two parts, and a third whose weight is that of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.up = LocalLinear(4, 6)
        self.norm = LocalLayerNorm(6, elementwise_affine=False)
        self.tied = nn.Linear(4, 6, bias=False)
        self.tied.weight = self.up.weight


def model() -> Model:
    with torch.device("meta"):
        return Model()


def test_every_parameter_lies_on_the_mesh_and_ties_hold() -> None:
    made = model()
    split_parameters(made, init_device_mesh("cpu", (1,)), {"up.weight": 0})
    weight, bias = made.up.weight, made.up.bias
    assert isinstance(weight, DTensor)
    assert weight.placements == (Shard(0),)
    assert isinstance(bias, DTensor)
    assert bias.placements == (Replicate(),)
    assert made.tied.weight is weight


def test_a_name_that_fits_nothing_is_said() -> None:
    with pytest.raises(ValueError, match=r"no parameter is called \['down\.weight'\]"):
        split_parameters(model(), init_device_mesh("cpu", (1,)), {"down.weight": 1})


def test_ids_of_other_ranks_give_zeros() -> None:
    table = VocabEmbedding(4, 3, start=4)
    rows = table(torch.tensor([3, 4, 7, 8]))
    assert torch.equal(rows[1:3], table.weight[[0, 3]])
    assert rows[[0, 3]].abs().sum() == 0


@pytest.mark.parametrize(
    ("ignore", "smooth", "z"), [(-100, 0.0, 0.0), (2, 0.1, 0.0), (-100, 0.0, 1e-2), (2, 0.2, 1e-2)]
)
def test_all_classes_on_one_rank_are_the_plain_loss(ignore: int, smooth: float, z: float) -> None:
    logits = torch.randn(5, 3, 7, requires_grad=True)
    labels = torch.randint(7, (5, 3))
    whole = cross_entropy(logits, labels, ignore, smooth, z)
    assert dist.group.WORLD is not None
    split = split_cross_entropy(logits, labels, dist.group.WORLD, ignore, smooth, z)
    (true,) = torch.autograd.grad(whole, logits)
    (found,) = torch.autograd.grad(split, logits)
    assert split.item() == pytest.approx(whole.item(), rel=1e-5)
    assert torch.allclose(found, true, atol=1e-6)
