"""Random batches: every value is keyed by its place in the global batch, so no mesh changes it."""

from collections.abc import Callable
from functools import partial

import torch

from specc.parts.keyed import keyed_generator

KEY_BLOCK = 128  # entries of dim 1 under one key: a rank draws little more than its own


def draw_normal(key: tuple, shape: tuple[int, ...], part: tuple[range, ...]) -> torch.Tensor:
    """Standard normals in fp32: this rank's `part` of the global `shape`.

    Args:
        key: names the draw, e.g. (seed, field, index of the batch).
        part: what this rank holds of each dim; dims after the last one named are whole.
    """
    return draw_rows(torch.randn, key, shape, part)


def draw_integers(
    key: tuple, shape: tuple[int, ...], part: tuple[range, ...], high: int
) -> torch.Tensor:
    """Integers of [0, high) in int64: this rank's `part` of the global `shape`, as draw_normal."""
    return draw_rows(partial(torch.randint, high), key, shape, part)


def draw_rows(
    draw: Callable, key: tuple, shape: tuple[int, ...], part: tuple[range, ...]
) -> torch.Tensor:
    """`part` of a tensor of `shape` that `draw` fills row by row, each row under its own key."""
    rows, *inner = (*part, *map(range, shape[len(part) :]))
    return torch.stack([draw_row(draw, (*key, row), shape[1:], inner) for row in rows])


def draw_row(draw: Callable, key: tuple, shape: tuple[int, ...], part: list[range]) -> torch.Tensor:
    """`part` of one row: whole blocks of KEY_BLOCK entries are drawn, then cut."""
    if not shape:
        return draw((), generator=keyed_generator(*key))
    columns, *rest = part
    blocks = []
    for begin in range(columns.start // KEY_BLOCK * KEY_BLOCK, columns.stop, KEY_BLOCK):
        size = (min(KEY_BLOCK, shape[0] - begin), *shape[1:])
        block = draw(size, generator=keyed_generator(*key, begin))
        blocks.append(block[max(0, columns.start - begin) : columns.stop - begin])
    return torch.cat(blocks)[(slice(None), *(slice(r.start, r.stop) for r in rest))]
