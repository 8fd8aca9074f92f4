"""Measures the loss on batches that are not trained on."""

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import nn


@torch.no_grad()
def evaluate(
    model: nn.Module, batches: Iterable[tuple], loss: Callable[..., tuple]
) -> torch.Tensor:
    """Mean loss over `batches`, a 0-dim fp32 tensor, the same on all ranks; back in train mode.

    Args:
        batches: this rank's part of each batch; all ranks have equally many.
        loss: called with a batch, gives this rank's sum of the loss, a tensor, and how many terms
            are in it, a number or a tensor.
    """
    model.eval()
    sums = [
        torch.stack([total.float(), torch.as_tensor(count).to(total.device, torch.float32)])
        for total, count in (loss(*batch) for batch in batches)
    ]
    model.train()
    if not sums:
        raise ValueError("no batches to evaluate")
    both = torch.stack(sums).sum(0)
    dist.all_reduce(both)
    return both[0] / both[1]
