"""Random batches: any split of any dim gives the pieces of the whole, and each key its own."""

import itertools

import pytest
import torch

from specc.parts.synthetic import draw_integers, draw_normal

KEY = (0, "x", 7)
SHAPE = (4, 300, 6)  # 300 is no multiple of a block


def cuts(size: int, pieces: int) -> list[range]:
    return [range(i * size // pieces, (i + 1) * size // pieces) for i in range(pieces)]


@pytest.mark.parametrize(("rows", "columns", "width"), [(2, 1, 1), (1, 4, 1), (4, 3, 2), (1, 7, 6)])
def test_any_split_gives_the_pieces_of_the_whole(rows: int, columns: int, width: int) -> None:
    whole = draw_normal(KEY, SHAPE, ())

    for r, c, w in itertools.product(cuts(4, rows), cuts(300, columns), cuts(6, width)):
        piece = draw_normal(KEY, SHAPE, (r, c, w))
        expected = whole[r.start : r.stop, c.start : c.stop, w.start : w.stop]
        assert torch.equal(piece, expected)


def test_dims_that_are_not_named_are_whole() -> None:
    whole = draw_normal(KEY, SHAPE, (range(4), range(300), range(6)))

    assert torch.equal(draw_normal(KEY, SHAPE, (range(1, 3),)), whole[1:3])


def test_integers_split_as_normals_do() -> None:
    whole = draw_integers(KEY, (4, 300), (), 1000)
    piece = draw_integers(KEY, (4, 300), (range(2, 4), range(130, 260)), 1000)

    assert whole.dtype == torch.int64
    assert torch.equal(piece, whole[2:4, 130:260])
    assert 0 <= whole.min() < 50
    assert 950 <= whole.max() < 1000


def test_a_field_may_have_one_value_for_each_row() -> None:
    whole = draw_integers(KEY, (64,), (), 10)

    assert whole.shape == (64,)
    assert set(whole.tolist()) == set(range(10))
    assert torch.equal(draw_integers(KEY, (64,), (range(8, 16),), 10), whole[8:16])


@pytest.mark.parametrize("key", [(1, "x", 7), (0, "y", 7), (0, "x", 8)])
def test_seed_field_and_batch_each_change_the_values(key: tuple) -> None:
    first, second = draw_normal(KEY, SHAPE, ()), draw_normal(key, SHAPE, ())

    assert torch.isin(first, second).float().mean() < 0.01  # fp32 has few values: some meet


def test_no_row_and_no_block_repeats_another() -> None:
    assert draw_normal(KEY, SHAPE, ()).unique().numel() > 0.999 * 4 * 300 * 6


def test_normals_have_mean_0_and_variance_1() -> None:
    x = draw_normal(KEY, (8, 512, 32), ()).double()

    assert abs(x.mean()) < 5 / x.numel() ** 0.5
    assert abs(x.var() - 1) < 5 * (2 / x.numel()) ** 0.5
