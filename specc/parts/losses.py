"""Losses as fp32 sums over a rank's tokens; the training step divides by the global count."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def cross_entropy(
    logits: Tensor, labels: Tensor, ignore: int = -100, smooth: float = 0.0, z: float = 0.0
) -> Tensor:
    """Sum of the cross-entropy over the labels that are not `ignore`, fp32.

    Shapes: logits [.., V], labels int64 [..] -> [].

    Args:
        smooth: share of the target that is spread evenly over all V classes.
        z: weight of the squared log-partition (Chowdhery et al. 2022, "PaLM", section 5).
    """
    logits, labels = logits.float().flatten(0, -2), labels.flatten()
    loss = F.cross_entropy(
        logits, labels, ignore_index=ignore, reduction="sum", label_smoothing=smooth
    )
    if z == 0.0:
        return loss
    return loss + z * (logits.logsumexp(dim=-1).square() * (labels != ignore)).sum()


def squared_error(out: Tensor, target: Tensor) -> Tensor:
    """Sum of the squared differences, fp32."""
    return F.mse_loss(out.float(), target.float(), reduction="sum")


def total(x: Tensor) -> Tensor:
    """Sum of all elements, fp32."""
    return x.sum(dtype=torch.float32)


def count_valid(labels: Tensor, ignore: int = -100) -> Tensor:
    """Number of labels that are not `ignore`, fp32 so that it is reduced together with a loss."""
    return (labels != ignore).sum(dtype=torch.float32)


def chunked_loss(
    loss: Callable[[Tensor, Tensor], Tensor], x: Tensor, labels: Tensor, chunk: int
) -> Tensor:
    """loss(x, labels), a sum over tokens, taken `chunk` tokens at a time.

    Each chunk is computed again in the backward pass: what `loss` makes of x, such as logits,
    exists for one chunk at a time.

    Shapes: x [.., D], labels [..] -> [].
    """
    x, labels = x.flatten(0, -2), labels.flatten()
    result = torch.zeros((), device=x.device)
    for part, target in zip(x.split(chunk), labels.split(chunk), strict=True):
        result = result + checkpoint(
            loss, part, target, use_reentrant=False, preserve_rng_state=False
        )
    return result
