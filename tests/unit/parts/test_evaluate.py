"""The held-out loss is a mean over terms, taken in eval mode and without gradients."""

import pytest
import torch
from torch import Tensor, nn

from specc.parts.evaluate import evaluate

pytestmark = pytest.mark.usefixtures("world_of_one")


def test_the_mean_is_over_terms_not_over_batches() -> None:
    batches = [(torch.tensor([1.0, 2.0, 3.0]),), (torch.tensor([10.0]),)]
    model = nn.Identity()

    loss = evaluate(model, batches, lambda x: (model(x).sum(), len(x)))

    assert loss.dtype == torch.float32
    assert loss.shape == ()
    assert loss.item() == 16 / 4


def test_counts_may_be_tensors_and_losses_half_as_precise() -> None:
    batches = [(torch.tensor([1.0, -1.0]),), (torch.tensor([5.0, 3.0]),)]

    def loss(x: Tensor) -> tuple[Tensor, Tensor]:
        valid = x > 0
        return (x * valid).sum().bfloat16(), valid.sum()

    assert evaluate(nn.Identity(), batches, loss).item() == 9 / 3


def test_the_model_is_in_eval_mode_without_gradients_and_back_in_train_mode() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    modes: list[tuple[bool, bool]] = []

    def loss(x: Tensor) -> tuple[Tensor, int]:
        out = model(x)
        modes.append((model[1].training, out.requires_grad))
        return out.sum(), 8

    evaluate(model, [(torch.ones(2, 4),)], loss)

    assert modes == [(False, False)]
    assert model.training
    assert model[1].training


def test_no_batches_is_an_error_and_not_a_loss() -> None:
    with pytest.raises(ValueError, match="no batches"):
        evaluate(nn.Identity(), [], lambda: (torch.zeros(()), 0))
