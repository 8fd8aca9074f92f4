"""Whether a mesh trains what one rank trains, and sends what the Plan says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from specc.runtime.differences import Errors, differences, disagreements, errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specc.plan.collective import Collective
    from specc.runtime.observed import Training

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
COUNTED = ("all_gather", "reduce_scatter", "all_to_all", "send")
SUMMED = "all_reduce"  # by its bytes: DDP cuts what it reduces into buckets of its own
Counts = Counter[tuple[str, str, str, int]]


@attrs.frozen
class Verdict:
    """How one mesh compares.

    Args:
        calls: collectives of a step, all-reduces apart.
        faults: in words; empty if it trains the same model.
    """

    errors: Errors
    calls: int
    faults: tuple[str, ...]


def judge(
    ranks: Sequence[Training],
    one: Training,
    planned: Iterable[Collective],
    sizes: Mapping[str, int],
) -> Verdict:
    """The ranks of a mesh against one rank, and against the collectives of the Plan.

    Args:
        sizes: of the mesh's axes.
    """
    sent, wanted = counted(ranks[0]), expected(planned, sizes)
    faults = [
        *differences(ranks[0], one),
        *disagreements([[rank] for rank in ranks]),
        *_miscounted(sent, wanted),
    ]
    calls = sum(n for (kind, *_), n in sent.items() if kind in COUNTED)
    return Verdict(errors(ranks[0], one), calls, tuple(faults))


def counted(training: Training) -> Counts:
    """What a rank has sent in one step, by kind, axes, dtype and bytes."""
    return _counts(
        ((one.kind, one.axis, one.dtype, one.num_bytes), calls)
        for one, calls in training.sent.items()
    )


def expected(planned: Iterable[Collective], sizes: Mapping[str, int]) -> Counts:
    """What the Plan says that a rank sends, in the same words: axes of one rank send nothing."""
    return _counts(
        (
            (
                one.kind,
                "*".join(axis for axis in one.axes if sizes[axis] > 1),
                DTYPES[one.dtype],
                one.bytes,
            ),
            max(one.count, 1),
        )
        for one in planned
    )


def _counts(calls: Iterable[tuple[tuple[str, str, str, int], int]]) -> Counts:
    """Calls by their key; of all-reduces the bytes in all, under a key without a size."""
    found: Counts = Counter()
    for (kind, axes, dtype, size), count in calls:
        if kind in COUNTED:
            found[kind, axes, dtype, size] += count
        elif kind == SUMMED:
            found[kind, axes, dtype, 0] += count * size
    return found


def _miscounted(sent: Counts, wanted: Counts) -> list[str]:
    return [
        f"{_named(key)} {sent[key]:,} in a step, planned {wanted[key]:,}"
        for key in sorted(sent.keys() | wanted.keys())
        if sent[key] != wanted[key]
    ]


def _named(key: tuple[str, str, str, int]) -> str:
    kind, axes, dtype, size = key
    what = "bytes" if kind == SUMMED else f"calls of {size:,} bytes"
    return f"{kind} over {axes}, {dtype}, {what}:"
