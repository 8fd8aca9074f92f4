"""Losses as fp32 sums over a rank's tokens; the training step divides by the global count."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
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


def split_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    group: dist.ProcessGroup,
    ignore: int = -100,
    smooth: float = 0.0,
    z: float = 0.0,
) -> Tensor:
    """cross_entropy of logits of which each rank of a group has a piece along the classes.

    No rank has all logits of a token. The result is the same on every rank.

    Shapes: logits [.., V / n], labels int64 [..] -> [].

    Source: Shoeybi et al. 2019, "Megatron-LM", section 3.
    """
    logits, labels = logits.float().flatten(0, -2), labels.flatten()
    return SplitCrossEntropy.apply(logits, labels, group, ignore, smooth, z)


class SplitCrossEntropy(torch.autograd.Function):
    """split_cross_entropy of rows, whose gradient needs no exchange."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        labels: Tensor,
        group: dist.ProcessGroup,
        ignore: int,
        smooth: float,
        z: float,
    ) -> Tensor:
        """Shapes: logits [N, V / n] in fp32, labels [N] -> []."""
        largest = logits.amax(dim=-1)
        dist.all_reduce(largest, dist.ReduceOp.MAX, group)
        logits = logits - largest.unsqueeze(-1)
        own = labels - dist.get_rank(group) * logits.shape[-1]
        elsewhere = (own < 0) | (own >= logits.shape[-1])
        own = own.masked_fill(elsewhere, 0).unsqueeze(-1)
        sums = [logits.gather(-1, own).squeeze(-1).masked_fill(elsewhere, 0.0)]
        if smooth:
            sums.append(logits.sum(dim=-1))
        weights = logits.exp_()
        sums = torch.stack([weights.sum(dim=-1), *sums])
        dist.all_reduce(sums, group=group)
        total, target, *every = sums
        log_total, counts = total.log(), labels != ignore
        ctx.smooth, ctx.classes = smooth, dist.get_world_size(group) * logits.shape[-1]
        loss = log_total - target + z * (log_total + largest).square()
        if smooth:
            loss += smooth * (target - every[0] / ctx.classes)
        factor = (1 + 2 * z * (log_total + largest)) / total
        ctx.save_for_backward(weights, factor, own, elsewhere, counts)
        return (loss * counts).sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The weights of the classes, less what the label has of them."""
        weights, factor, own, elsewhere, counts = ctx.saved_tensors
        grad = weights * factor.unsqueeze(-1) - ctx.smooth / ctx.classes
        there = (ctx.smooth - 1.0) * ~elsewhere.unsqueeze(-1)
        grad.scatter_add_(-1, own, there.to(grad.dtype))
        return grad.mul_((grads[0] * counts).unsqueeze(-1)), None, None, None, None, None


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
