"""Norm and clipping of plain gradients against torch's own."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate
from torch.testing._internal.distributed.fake_pg import FakeStore

from specc.parts.gradients import clip_gradients, gradient_norm, scale_gradients


def parameters() -> list[nn.Parameter]:
    """Three weights with gradients, one of them 0-dim, one empty, one unused and one frozen."""
    generator = torch.Generator().manual_seed(0)
    made = []
    for shape in ((4, 5), (7,), (), (0, 3)):
        parameter = nn.Parameter(torch.zeros(shape))
        parameter.grad = torch.randn(shape, generator=generator)
        made.append(parameter)
    return [*made, nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2), requires_grad=False)]


def grads(made: list[nn.Parameter]) -> list[torch.Tensor]:
    return [p.grad for p in made if p.grad is not None]


def test_the_norm_is_that_of_all_gradients_together() -> None:
    made = parameters()
    expected = torch.cat([g.flatten() for g in grads(made)]).double().norm()

    actual = gradient_norm(made)

    assert (actual.shape, actual.dtype) == ((), torch.float32)
    torch.testing.assert_close(actual.double(), expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("limit", [0.5, 1e3])
def test_clipping_is_that_of_torch(limit: float) -> None:
    ours, theirs = parameters(), parameters()

    norm = clip_gradients(iter(ours), limit)

    torch.testing.assert_close(norm, torch.nn.utils.clip_grad_norm_(theirs, limit))
    torch.testing.assert_close(grads(ours), grads(theirs))


@pytest.mark.parametrize("factor", [0.25, 3.0, torch.tensor(3.0)])
@pytest.mark.parametrize("limit", [0.5, 1e3])
def test_a_factor_acts_before_the_limit(factor: float | torch.Tensor, limit: float) -> None:
    ours, theirs = parameters(), parameters()
    for gradient in grads(theirs):
        gradient.mul_(factor)

    norm = clip_gradients(ours, limit, factor)

    torch.testing.assert_close(norm, torch.nn.utils.clip_grad_norm_(theirs, limit))
    torch.testing.assert_close(grads(ours), grads(theirs))


def test_a_shared_parameter_counts_and_is_scaled_once() -> None:
    made = parameters()
    expected, before = gradient_norm(made), [g.clone() for g in grads(made)]

    assert torch.equal(gradient_norm([*made, *made]), expected)
    scale_gradients([*made, *made], 2.0)
    torch.testing.assert_close(grads(made), [2 * g for g in before])


def test_small_gradients_of_bf16_are_added_in_fp32() -> None:
    made = nn.Parameter(torch.zeros(100_000, dtype=torch.bfloat16))
    made.grad = torch.full_like(made, 2.0**-7)

    torch.testing.assert_close(gradient_norm([made]).item(), 100_000**0.5 / 128, rtol=1e-5, atol=0)


def test_without_any_gradient_the_norm_is_zero() -> None:
    assert gradient_norm([nn.Parameter(torch.zeros(3))]).item() == 0


def test_a_large_gradient_loses_no_digits() -> None:
    made = nn.Parameter(torch.zeros(4096, 1024))
    made.grad = torch.randn(4096, 1024, generator=torch.Generator().manual_seed(0))

    assert gradient_norm([made]).item() == pytest.approx(made.grad.double().norm().item(), rel=1e-6)


def test_a_gradient_that_is_not_yet_summed_over_ranks_is_refused() -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = init_device_mesh("cpu", (2,))
        made = nn.Parameter(DTensor.from_local(torch.ones(3), mesh, [Replicate()]))
        made.grad = DTensor.from_local(torch.ones(3), mesh, [Partial()])
        with pytest.raises(ValueError, match="Partial"):
            gradient_norm([made])
    finally:
        dist.destroy_process_group()


def test_a_norm_that_is_no_number_reaches_the_record() -> None:
    made = parameters()
    made[0].grad = torch.full((4, 5), torch.nan)

    assert clip_gradients(made, 1.0).isnan()
