"""Losses against torch's own in float64, whole and in chunks."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specc.parts.losses import chunked_loss, count_valid, cross_entropy, squared_error, total


def draw(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Logits and labels of 3 x 7 tokens, some of them ignored."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(11, (3, 7), generator=generator)
    labels[0, :4] = -100
    return 4 * torch.randn(3, 7, 11, generator=generator).to(dtype), labels


@pytest.mark.parametrize("smooth", [0.0, 0.1])
def test_cross_entropy_is_the_sum_over_labels_that_are_not_ignored(smooth: float) -> None:
    logits, labels = draw()
    kept = labels != -100
    expected = F.cross_entropy(
        logits[kept].double(), labels[kept], reduction="sum", label_smoothing=smooth
    )

    actual = cross_entropy(logits, labels, smooth=smooth)

    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual.double(), expected, rtol=1e-6, atol=0)


def test_another_label_may_be_the_ignored_one() -> None:
    logits, labels = draw()

    assert torch.equal(
        cross_entropy(logits, labels.where(labels != -100, 3), ignore=3),
        cross_entropy(logits, labels.where(labels != 3, -100)),
    )


def test_z_adds_the_squared_log_partition_of_the_valid_tokens() -> None:
    logits, labels = draw()
    partition = logits[labels != -100].double().exp().sum(-1).log()
    expected = cross_entropy(logits, labels).double() + 0.1 * partition.square().sum()

    actual = cross_entropy(logits, labels, z=0.1)

    torch.testing.assert_close(actual.double(), expected, rtol=1e-6, atol=0)


def test_bf16_logits_are_summed_in_fp32() -> None:
    logits, labels = draw(torch.bfloat16)

    assert torch.equal(cross_entropy(logits, labels), cross_entropy(logits.float(), labels))


@pytest.mark.parametrize("z", [0.0, 0.1])
def test_a_batch_without_a_valid_label_has_loss_and_gradient_zero(z: float) -> None:
    logits = draw()[0].requires_grad_()
    labels = torch.full((3, 7), -100)

    loss = cross_entropy(logits, labels, z=z)
    loss.backward()

    assert loss.item() == 0
    assert count_valid(labels).item() == 0
    assert logits.grad is not None
    assert torch.count_nonzero(logits.grad) == 0


def test_valid_labels_are_counted_in_the_dtype_of_a_loss() -> None:
    labels = draw()[1]
    count = count_valid(labels)

    assert (count.item(), count.dtype) == (17, torch.float32)
    assert count_valid(labels.clamp(min=0), ignore=12).item() == 21


def test_sums_are_taken_in_fp32() -> None:
    a, b = torch.full((1000,), 0.5).bfloat16(), torch.zeros(1000).bfloat16()

    assert total(a).item() == 500
    assert squared_error(a, b).item() == 250
    assert total(a).dtype == squared_error(a, b).dtype == torch.float32


def grad_of(x: Tensor) -> Tensor:
    assert x.grad is not None
    return x.grad


class Head(nn.Module):
    """A head whose logits are remembered by their number of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 11)
        self.seen: list[int] = []

    def loss(self, x: Tensor, labels: Tensor) -> Tensor:
        self.seen.append(x.shape[0])
        return cross_entropy(self.linear(x), labels)


@pytest.mark.parametrize("chunk", [1, 4, 7, 21, 100])
def test_chunks_give_the_loss_and_gradients_of_the_whole(chunk: int) -> None:
    torch.manual_seed(0)
    head, x, labels = Head(), torch.randn(3, 7, 6), draw()[1]
    whole, parts = x.clone().requires_grad_(), x.clone().requires_grad_()
    expected = head.loss(whole.flatten(0, 1), labels.flatten())
    expected.backward()
    weight_grad = grad_of(head.linear.weight)
    head.zero_grad()
    head.seen.clear()

    actual = chunked_loss(head.loss, parts, labels, chunk)
    (2 * actual).backward()

    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(grad_of(parts), 2 * grad_of(whole))
    torch.testing.assert_close(grad_of(head.linear.weight), 2 * weight_grad)
    assert max(head.seen) == min(chunk, 21)
    assert sum(head.seen) == 2 * 21  # once forward, once again in the backward pass


def test_a_chunk_keeps_no_logits_for_the_backward_pass() -> None:
    head, x, labels = Head(), torch.randn(3, 7, 6), draw()[1]
    shapes = []

    def note(saved: Tensor) -> Tensor:
        shapes.append(saved.shape)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        chunked_loss(head.loss, x.requires_grad_(), labels, 7)
    assert all(shape[-1:] != (11,) for shape in shapes)
