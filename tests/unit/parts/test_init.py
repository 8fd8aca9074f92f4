"""Initial weights: every shard is the part of the whole, every row of the table is used."""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Placement, Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from specc.parts.init import (
    BLOCK_VALUES,
    constant,
    digest,
    init_weights,
    normal,
    trunc_normal,
    uniform,
    xavier_uniform,
)

Draw = Callable[..., Tensor]


@contextmanager
def mesh_of(shape: tuple[int, ...], rank: int) -> Iterator[DeviceMesh]:
    """A mesh seen from one rank; nothing is sent."""
    world = math.prod(shape)
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield init_device_mesh("cpu", shape)
    finally:
        dist.destroy_process_group()


class Weights(nn.Module):
    """Weights of given shapes, called w0, w1, ..."""

    w0: nn.Parameter
    w1: nn.Parameter

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        for i, shape in enumerate(shapes):
            self.register_parameter(f"w{i}", nn.Parameter(torch.full(shape, math.nan)))


def drawn(shape: tuple[int, ...], draw: Draw, seed: int = 0) -> Tensor:
    model = Weights(shape)
    init_weights(model, {"w0": draw}, seed)
    return model.w0.detach()


def local_part(
    shape: tuple[int, ...], draw: Draw, mesh: DeviceMesh, placements: list[Placement]
) -> tuple[Tensor, Tensor]:
    """This rank's part as drawn by itself, and as torch cuts it from the whole."""
    own, cut = (
        distribute_tensor(whole, mesh, placements, src_data_rank=None)
        for whole in (torch.full(shape, math.nan), drawn(shape, draw))
    )
    model = nn.Module()
    # a buffer: making a parameter runs an operation, and torch caches the mesh of its result
    model.register_buffer("w0", own)
    init_weights(model, {"w0": draw}, 0)
    return own.to_local(), cut.to_local()


SHAPES = [(64, 16), (7, 16), (2, 3), (33,), (5, 6, 8), (1, 8), (3000, 300)]


@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_shard_of_rows_is_its_part_of_the_whole(shape: tuple[int, ...], world: int) -> None:
    for rank in range(world):
        with mesh_of((world,), rank) as mesh:
            actual, expected = local_part(shape, normal(0.02), mesh, [Shard(0)])
        assert torch.equal(actual, expected)


@pytest.mark.parametrize(
    "placements",
    [
        [Replicate(), Shard(0)],
        [Shard(0), Replicate()],
        [Shard(0), Shard(1)],
        [Shard(1), Shard(0)],
        [Shard(2), Replicate()],
        [Shard(0), Shard(0)],
        [Replicate(), Replicate()],
    ],
    ids=str,
)
def test_a_mesh_of_two_dims_may_split_any_dim(placements: list[Placement]) -> None:
    for rank in range(6):
        with mesh_of((2, 3), rank) as mesh:
            actual, expected = local_part((5, 7, 10), normal(1.0), mesh, placements)
        assert torch.equal(actual, expected)


def test_a_weight_of_many_blocks_is_whole() -> None:
    columns = 300
    rows = 3 * BLOCK_VALUES // columns
    whole = drawn((rows, columns), normal(1.0))

    assert not whole.isnan().any()
    blocks = whole.split(BLOCK_VALUES // columns)[:3]
    assert not any(torch.equal(a, b) for a, b in itertools.pairwise(blocks))


def test_rows_are_counted_over_all_dims_but_the_last() -> None:
    assert torch.equal(drawn((6, 4, 8), normal(1.0)).view(24, 8), drawn((24, 8), normal(1.0)))


def test_seed_and_name_change_the_draw() -> None:
    model = Weights((4, 4), (4, 4))
    init_weights(model, {"w0": normal(1.0), "w1": normal(1.0)}, 0)

    assert not torch.equal(model.w0, model.w1)
    assert torch.equal(model.w0, drawn((4, 4), normal(1.0)))
    assert not torch.equal(model.w0, drawn((4, 4), normal(1.0), seed=1))


@pytest.mark.parametrize(
    ("draw", "mean", "deviation", "bound"),
    [
        (normal(0.5), 0.0, 0.5, 5.0),
        (normal(0.5, mean=2.0), 2.0, 0.5, 5.0),
        (uniform(3.0), 0.0, 3 / 3**0.5, 3.0),
        (xavier_uniform(100, 50), 0.0, (2 / 150) ** 0.5, (6 / 150) ** 0.5),
        (xavier_uniform(100, 50, gain=2.0), 0.0, 2 * (2 / 150) ** 0.5, 2 * (6 / 150) ** 0.5),
        (trunc_normal(0.5), 0.0, 0.5 * 0.8796, 1.0),  # deviation of a normal cut at 2
        (trunc_normal(0.5, cut=1.0), 0.0, 0.5 * 0.5396, 0.5),
        (constant(1.5), 1.5, 0.0, 1.5),
    ],
)
def test_moments_and_bounds(draw: Draw, mean: float, deviation: float, bound: float) -> None:
    whole = drawn((1000, 300), draw)

    assert whole.abs().max() <= bound
    assert abs(whole.mean().item() - mean) <= 0.01 * max(deviation, 1e-9)
    assert abs(whole.std().item() - deviation) <= 0.01 * deviation


def test_a_scalar_and_bf16_are_filled() -> None:
    model = Weights((), (64, 4))
    model.w1 = nn.Parameter(model.w1.detach().bfloat16())
    init_weights(model, {"w0": constant(2.0), "w1": normal(1.0)}, 0)
    wide = Weights((), (64, 4))
    init_weights(wide, {"w0": constant(2.0), "w1": normal(1.0)}, 0)

    assert model.w0.item() == 2.0
    assert torch.equal(model.w1, wide.w1.bfloat16())


class Model(nn.Module):
    """Lists, a tie, a persistent and a non-persistent buffer."""

    count: Tensor
    key: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(8, 4)
        self.blocks = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(3))
        self.head = nn.Linear(4, 8, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("count", torch.full((2,), 9))
        self.register_buffer("key", torch.full((2,), 9), persistent=False)


def block_weight(model: Model, i: int) -> Tensor:
    return dict(model.named_parameters())[f"blocks.{i}.weight"]


TABLE = {"embed.weight": normal(1.0), "blocks.*.weight": constant(2.0), "count": constant(0.0)}


def test_a_star_stands_for_any_index_and_an_exact_name_wins() -> None:
    model = Model()
    init_weights(model, {**TABLE, "blocks.1.weight": constant(3.0)}, 0)

    assert [block_weight(model, i)[0, 0].item() for i in range(3)] == [2.0, 3.0, 2.0]


def test_buffers_of_a_checkpoint_are_filled_and_others_are_not() -> None:
    model = Model()
    init_weights(model, TABLE, 0)

    assert model.count.tolist() == [0, 0]
    assert model.key.tolist() == [9, 9]


def test_a_tie_has_one_row_and_stays() -> None:
    model = Model()
    init_weights(model, TABLE, 0)

    assert model.head.weight is model.embed.weight
    with pytest.raises(ValueError, match=r"head\.weight"):
        init_weights(model, {**TABLE, "head.weight": normal(1.0)}, 0)


def test_every_weight_needs_a_row_and_every_row_a_weight() -> None:
    table = {"embed.weight": normal(1.0), "blocks.*.weights": constant(2.0), "count": constant(0.0)}

    with pytest.raises(ValueError, match=r"blocks.0.weight.*blocks\.\*\.weights"):
        init_weights(Model(), table, 0)


def test_a_row_that_others_hide_is_an_error() -> None:
    hidden = {f"blocks.{i}.weight": constant(1.0) for i in range(3)}

    with pytest.raises(ValueError, match=r"nothing is called \['blocks\.\*\.weight'\]"):
        init_weights(Model(), {**TABLE, **hidden}, 0)


def test_a_star_stands_for_an_index_only() -> None:
    with pytest.raises(ValueError, match=r"nothing is called \['\*\.weight'\]"):
        init_weights(Model(), {"*.weight": normal(1.0), **TABLE}, 0)


def filled() -> Model:
    model = Model()
    init_weights(model, TABLE, 0)
    return model


def test_the_digest_is_that_of_the_weights() -> None:
    model = filled()

    assert digest(model) == digest(filled())
    assert len(digest(model)) == 16
    assert int(digest(model), 16) > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.embed.weight[3, 2].mul_(1 + 2**-22),
        lambda model: model.embed.weight.copy_(model.embed.weight.flip(0)),
        lambda model: model.embed.weight.copy_(model.embed.weight.flip(1)),
        lambda model: model.embed.weight[0, 0].neg_(),
        lambda model: model.count.add_(1),
        lambda model: block_weight(model, 2)[0, 0].zero_(),
    ],
    ids=["last bit", "rows", "columns", "sign", "buffer", "zero"],
)
def test_the_digest_changes_with_any_weight(change: Callable[[Model], object]) -> None:
    model = filled()
    with torch.no_grad():
        change(model)

    assert digest(model) != digest(filled())


def test_the_digest_knows_which_weight_is_which() -> None:
    model = filled()
    with torch.no_grad():
        block_weight(model, 0).fill_(5.0)
    other = filled()
    with torch.no_grad():
        block_weight(other, 1).fill_(5.0)

    assert digest(model) != digest(other)


def test_copies_on_a_mesh_that_is_a_part_of_the_world_are_not_guessed() -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        model = Weights((4, 4))
        model.w0 = nn.Parameter(
            distribute_tensor(torch.ones(4, 4), mesh["b"], [Shard(0)], src_data_rank=None)
        )
        with pytest.raises(ValueError, match="mesh of 2 of 4"):
            digest(model)
    finally:
        dist.destroy_process_group()
