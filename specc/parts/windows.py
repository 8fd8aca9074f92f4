"""Samples of one long sequence of tokens, in shuffled order, cut to what one rank needs."""

from typing import Any

import torch

from specc.parts.keyed import key_number
from specc.parts.permutation import permute


def windows(
    tokens: Any,
    first: int,
    rows: range,
    columns: range,
    length: int,
    shuffle: int | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels of this rank, int64 [rows, columns]; a label is the token that follows.

    An epoch visits each window of `length` tokens once. Shuffled, its windows also start at an
    offset of their own, so that no epoch cuts the text where another did.

    Args:
        tokens: what has a length and gives a tensor for a slice: a tensor, or mapped files.
        first: number of samples in all batches before this one.
        rows: which samples of the global batch this rank holds.
        columns: which of the `length` positions it holds; labels are shifted before this cut.
        shuffle: the seed of the order; None takes the windows as they lie in `tokens`.
    """
    ids = torch.stack(
        [
            tokens[start + columns.start : start + columns.stop + 1].long()
            for start in (window_start(first + row, len(tokens), length, shuffle) for row in rows)
        ]
    )
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def window_start(sample: int, size: int, length: int, shuffle: int | None) -> int:
    """Where sample number `sample`, counted over all epochs, starts in `size` tokens."""
    if shuffle is None:
        return sample % ((size - 1) // length) * length
    count = max(1, (size - 1) // length - 1)  # one less than fit leaves room for any offset
    epoch, index = divmod(sample, count)
    offset = key_number(shuffle, "offset", epoch) % min(length, size - count * length)
    return permute(index, count, shuffle, "window", epoch) * length + offset


def check_ids(ids: torch.Tensor, vocab: int) -> None:
    """Exit with a message if an id lies outside [0, vocab)."""
    low, high = ids.aminmax()
    if low < 0 or high >= vocab:
        raise SystemExit(
            f"the data has token ids from {low:,} to {high:,}, the vocabulary has {vocab:,}: "
            "it was made with another tokenizer, or stored in another type"
        )
