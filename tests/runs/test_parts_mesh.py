"""The model's parts on meshes of one, two and four ranks, against one rank."""

import pytest
import torch

from specc.runtime.pool import Pool
from tests.runs import parts_jobs as jobs

pytestmark = pytest.mark.run

MESHES = [
    ("plain", 1),
    ("fsdp", 1),
    ("plain", 2),
    ("fsdp", 2),
    ("replicated", 2),
    ("fsdp", 4),
    ("hsdp", 4),
]
MIXED = [("fsdp", 2), ("hsdp", 4)]
ALL = [(*mesh, False) for mesh in MESHES] + [(*mesh, True) for mesh in MIXED]


@pytest.fixture(scope="module")
def one_rank(pool: Pool) -> tuple[str, dict[str, str]]:
    """Digest and bits of the weights of a plain model."""
    return pool.run(jobs.weights, "plain", False, world=1)[0]


def test_weights_differ_from_each_other(one_rank: tuple[str, dict[str, str]]) -> None:
    bits = one_rank[1]

    assert len(set(bits.values())) == len(bits) - 1  # the two norms are all ones


@pytest.mark.parametrize(("layout", "world", "mixed"), ALL[1:])
def test_weights_start_with_the_same_bits_on_every_mesh(
    pool: Pool, one_rank: tuple[str, dict[str, str]], layout: str, world: int, mixed: bool
) -> None:
    assert pool.run(jobs.weights, layout, mixed, world=world) == [one_rank] * world


@pytest.mark.parametrize(("layout", "world", "mixed"), ALL)
def test_gradients_are_clipped_by_the_norm_of_the_whole(
    pool: Pool, layout: str, world: int, mixed: bool
) -> None:
    cases = [(1.0, 1.0), (1.0, 0.5), (1e6, 3.0)]
    for found in pool.run(jobs.clipped, layout, mixed, cases, world=world):
        for ratio, error in found:
            assert ratio == pytest.approx(1, abs=2e-6)
            assert error < 2e-5


@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_norm_after_a_backward_pass_is_that_of_the_whole_gradients(
    pool: Pool, world: int
) -> None:
    for actual, expected in pool.run(jobs.norm_after_backward, world=world):
        assert actual == pytest.approx(expected, rel=2e-6)


def test_a_split_of_columns_under_fsdp_keeps_bits_and_norm(pool: Pool) -> None:
    for same_bits, same_digest, ratio in pool.run(jobs.columns_under_fsdp, world=4):
        assert (same_bits, same_digest) == (True, True)
        assert ratio == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("dp", "world"), [(1, 1), (1, 2), (1, 4), (2, 4)])
def test_ulysses_attends_as_one_rank_does(pool: Pool, dp: int, world: int) -> None:
    heads = [(8, 8), (8, 4), (8, 2), (8, 1), (12, 3)]
    for errors in pool.run(jobs.ulysses_errors, heads, dp, world=world):
        assert max(errors) < 5e-6


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_exchange_moves_the_right_slices(pool: Pool, world: int, dtype: torch.dtype) -> None:
    assert pool.run(jobs.ulysses_moves_bits, dtype, world=world) == [(True, True)] * world


def test_dropout_depends_on_no_mesh_and_no_wrapper(pool: Pool) -> None:
    whole = pool.run(jobs.dropped_rows, "plain", world=1)[0]

    for layout, world in (("plain", 2), ("ddp", 2), ("fsdp", 2), ("fsdp", 4)):
        parts = pool.run(jobs.dropped_rows, layout, world=world)
        assert [row for part in parts for row in part] == whole


@pytest.mark.parametrize("kind", ["whole", "window", "capped"])
def test_a_layer_recomputes_to_the_bit(pool: Pool, kind: str) -> None:
    assert pool.run(jobs.recomputed_error, kind, world=2) == [0.0, 0.0]


@pytest.mark.timeout(300)  # three graphs are compiled by each rank, on machines of two cores
@pytest.mark.parametrize(
    ("kind", "recompute", "sharded"),
    [("whole", True, True), ("window", False, True), ("capped", True, False)],
)
def test_a_layer_compiles_into_one_graph(
    pool: Pool, kind: str, recompute: bool, sharded: bool
) -> None:
    for error, graphs in pool.run(
        jobs.compiled_error, kind, recompute, sharded, world=2, timeout_s=240
    ):
        assert error < 1e-5
        assert graphs == 1
