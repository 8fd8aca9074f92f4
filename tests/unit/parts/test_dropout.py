"""Dropout masks: the same for every split, as random as they should be, stable in a recompute."""

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from specc.parts.dropout import Dropout, seed_dropout


def grad_of(x: Tensor) -> Tensor:
    assert x.grad is not None
    return x.grad


def dropout(p: float, start: tuple[int, ...], key: int = 12345) -> Dropout:
    layer = Dropout(p, start)
    layer.key.fill_(key)
    return layer


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (1, 4), (2, 4), (8, 16)])
def test_any_split_of_rows_and_columns_drops_the_same(rows: int, columns: int) -> None:
    x = torch.randn(8, 3, 16)
    whole = dropout(0.3, (40, 7, 0))(x)
    height, width = 8 // rows, 16 // columns

    for i, j in itertools.product(range(rows), range(columns)):
        part = (slice(i * height, (i + 1) * height), slice(None), slice(j * width, (j + 1) * width))
        layer = dropout(0.3, (40 + i * height, 7, j * width))
        assert torch.equal(layer(x[part]), whole[part])


def test_kept_elements_are_scaled_so_that_the_mean_stays() -> None:
    out = dropout(0.25, (0, 0))(torch.full((512, 512), 3.0))

    assert set(out.unique().tolist()) == {0.0, 4.0}
    torch.testing.assert_close(out.mean().item(), 3.0, rtol=0.01, atol=0)


@pytest.mark.parametrize("p", [0.0, 0.01, 0.1, 0.5, 0.9])
def test_the_share_of_zeros_is_p_in_all_and_in_each_row_and_column(p: float) -> None:
    zeros = (dropout(p, (1000, 0))(torch.ones(1024, 1024)) == 0).double()
    deviation = (p * (1 - p)) ** 0.5

    assert abs(zeros.mean() - p) <= 5 * deviation / 1024
    for dim in (0, 1):
        spread = zeros.mean(dim).std().item()
        torch.testing.assert_close(spread, deviation / 32, rtol=0.15, atol=1e-12)


def correlation(a: Tensor, b: Tensor) -> float:
    return torch.corrcoef(torch.stack((a.flatten(), b.flatten())))[0, 1].item()


def test_neighbours_places_and_keys_are_uncorrelated() -> None:
    ones = torch.ones(1024, 1024)
    mask = (dropout(0.5, (0, 0))(ones) == 0).float()
    other_place = (dropout(0.5, (1024, 0))(ones) == 0).float()
    other_key = (dropout(0.5, (0, 0), key=12346)(ones) == 0).float()

    pairs = [(mask[1:], mask[:-1]), (mask[:, 1:], mask[:, :-1]), (mask[:, 2:], mask[:, :-2])]
    pairs += [
        (mask, other_place),
        (mask, other_key),
        (mask, mask.T),
        (mask[1:, 1:], mask[:-1, :-1]),
    ]
    assert [abs(correlation(a, b)) < 5 / 1024 for a, b in pairs] == [True] * len(pairs)


def test_eval_and_p_of_zero_change_nothing() -> None:
    x = torch.randn(4, 4)

    assert dropout(0.5, (0, 0)).eval()(x) is x
    assert dropout(0.0, (0, 0))(x) is x


def test_the_dtype_stays_and_a_dropped_infinity_is_zero() -> None:
    out = dropout(0.5, (0, 0))(torch.full((8, 8), torch.inf, dtype=torch.bfloat16))

    assert out.dtype == torch.bfloat16
    assert set(out.float().unique().tolist()) == {0.0, torch.inf}


def test_the_gradient_has_the_mask_of_the_value() -> None:
    x = torch.randn(16, 16, requires_grad=True)
    out = dropout(0.5, (0, 0))(x)
    out.sum().backward()

    assert torch.equal(grad_of(x), torch.where(out == 0, 0.0, 2.0))


def test_a_recompute_drops_the_same() -> None:
    layer, x = dropout(0.5, (0, 0)), torch.randn(16, 16, requires_grad=True)
    again = x.detach().clone().requires_grad_()

    layer(x.sin()).cos().sum().backward()
    checkpoint(lambda y: layer(y.sin()).cos(), again, use_reentrant=False).sum().backward()

    assert torch.equal(grad_of(x), grad_of(again))


def test_a_start_is_needed_for_every_dim() -> None:
    with pytest.raises(ValueError, match="zip"):
        dropout(0.5, (0,))(torch.ones(2, 2))


class Model(nn.Module):
    """Dropout at two places of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Dropout(0.5, (0, 0))
        self.blocks = nn.ModuleList([Dropout(0.5, (0, 0))])

    def keys(self, seed: int, index: int) -> tuple[int, ...]:
        seed_dropout(self, seed, index)
        return tuple(int(m.key) for m in self.modules() if isinstance(m, Dropout))


def test_keys_depend_on_seed_name_and_microbatch_alone() -> None:
    keys = [Model().keys(seed, index) for seed in range(3) for index in range(3)]

    assert keys == [Model().keys(seed, index) for seed in range(3) for index in range(3)]
    assert len(set(itertools.chain(*keys))) == 18
    assert any(key < 0 for key in itertools.chain(*keys))
    assert any(key > 2**30 for key in itertools.chain(*keys))


def test_a_key_is_no_part_of_a_checkpoint() -> None:
    assert Model().state_dict() == {}
