"""Jobs of the parity tests."""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from specc.runtime.execute import load_text
from specc.runtime.observed import Training, observe


def train(text: str, name: str, steps: int | None = None) -> Training:
    """Train what a text says in the process group that exists; a FutureWarning is an error.

    Args:
        steps: the text's own number, or fewer.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        return observe(text, name, steps)


def trainings(texts: list[tuple[str, str, int | None]]) -> list[Training]:
    """Several trainings, one after the other, in one job."""
    return [train(*text) for text in texts]


def batches(module: Any, device: torch.device) -> Iterator[tuple[Tensor, ...]]:
    """This rank's part of every microbatch."""
    return module.batches(device, 0)


def first_batch(text: str, name: str) -> Tensor:
    """This rank's part of the first field of the first batch."""
    return next(batches(load_text(text, name), torch.device("cpu")))[0]
