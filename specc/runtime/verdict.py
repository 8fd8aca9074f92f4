"""Whether a mesh trains what one rank trains, and sends what the Plan says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from specc.runtime.differences import Errors, differences, disagreements, errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specc.plan.collectives import Collective
    from specc.runtime.observed import Training

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
# All-reduces are left out: DDP cuts its own into buckets, and every figure that is shown is one.
COUNTED = ("all_gather", "reduce_scatter", "all_to_all", "send")
HEADER = "ranks  gradients  loss     norm     collectives  verdict"
SHOWN = 6  # faults of one mesh
Counts = Counter[tuple[str, str, str, int]]


@attrs.frozen
class Verdict:
    """How one mesh compares.

    Args:
        faults: in words; empty if it trains the same model.
    """

    errors: Errors
    calls: int
    faults: tuple[str, ...]

    def row(self, ranks: int) -> str:
        """A row of the table, and the faults below it."""
        figures = (self.errors.gradient, self.errors.loss, self.errors.norm)
        gradient, loss, norm = (f"{figure:.1e}" if figure else "0" for figure in figures)
        word = "differs" if self.faults else "the same"
        row = f"{ranks:>5}  {gradient:<9}  {loss:<7}  {norm:<7}  {self.calls:<11}  {word}"
        shown = [f"\n    {fault}" for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            shown.append(f"\n    and {len(self.faults) - SHOWN} more")
        return row + "".join(shown)


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
    return Verdict(errors(ranks[0], one), sent.total(), tuple(faults))


def counted(training: Training) -> Counts:
    """What a rank has sent in one step, by kind, axes, dtype and bytes."""
    return Counter(
        {
            (one.kind, one.axis, one.dtype, one.num_bytes): count
            for one, count in training.sent.items()
            if one.kind in COUNTED
        }
    )


def expected(planned: Iterable[Collective], sizes: Mapping[str, int]) -> Counts:
    """What the Plan says that a rank sends, in the same words: axes of one rank send nothing."""
    found: Counts = Counter()
    for one in planned:
        if one.kind in COUNTED:
            axes = "*".join(axis for axis in one.axes if sizes[axis] > 1)
            found[(one.kind, axes, DTYPES[one.dtype], one.bytes)] += one.count
    return found


def _miscounted(sent: Counts, wanted: Counts) -> list[str]:
    return [
        f"{kind} over {axes}, {dtype}, {size:,} bytes: {sent[key]} in a step, planned {wanted[key]}"
        for key in sorted(sent.keys() | wanted.keys())
        if sent[key] != wanted[key]
        for kind, axes, dtype, size in [key]
    ]
