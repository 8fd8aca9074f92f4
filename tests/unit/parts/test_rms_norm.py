"""RMSNorm against its formula in float64."""

import pytest
import torch

from specc.parts.rms_norm import RMSNorm


def draw(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (3 * torch.randn(4, 5, 32, generator=torch.Generator().manual_seed(0))).to(dtype)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("eps", [1e-6, 1e-1])
def test_it_divides_by_the_root_mean_square(offset: float, eps: float) -> None:
    norm, x = RMSNorm(32, eps, offset), draw().requires_grad_()
    torch.nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(1))
    wide, weight = x.detach().double().requires_grad_(), norm.weight.detach().double()
    expected = wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * (offset + weight)

    actual = norm(x)

    torch.testing.assert_close(actual.double(), expected, atol=1e-5, rtol=1e-5)
    actual.square().sum().backward()
    expected.square().sum().backward()
    assert x.grad is not None
    assert wide.grad is not None
    torch.testing.assert_close(x.grad.double(), wide.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_it_starts_without_a_scale(offset: float) -> None:
    x = draw()

    assert torch.equal(RMSNorm(32, 1e-6, offset)(x), RMSNorm(32, 1e-6)(x))


def test_bf16_is_normalized_in_fp32() -> None:
    norm, x = RMSNorm(32, 1e-6), draw(torch.bfloat16)
    torch.nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(1))

    actual = norm.bfloat16()(x)

    assert actual.dtype == torch.bfloat16
    assert torch.equal(actual, norm.float()(x.float()).bfloat16())  # the weight stays rounded


def test_rows_are_normalized_alike_however_they_are_split() -> None:
    norm, x = RMSNorm(32, 1e-6), draw()

    assert torch.equal(torch.cat([norm(part) for part in x.split(1)]), norm(x))
