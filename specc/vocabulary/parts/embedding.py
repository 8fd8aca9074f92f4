"""`Embedding(V -> D)`: one row for each id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import PartRecord, Weight

if TYPE_CHECKING:
    from specc.vocabulary.record import DimTexts, Lie, Settings


def _local(dims: DimTexts, _: Settings, lie: Lie) -> str:
    if lie.summed:
        return f"VocabEmbedding({dims['V']}, {dims['D']}, {lie.start})"
    return f"LocalEmbedding({dims['V']}, {dims['D']})"


RECORD = PartRecord(
    name="Embedding",
    arguments="arrow",
    letters=("V", "D"),
    takes="ids i64[..] -> [.., D]",
    settings=(),
    weights=(Weight("weight", ("V", "D"), "normal"),),
    split=("..", "D"),
    sum=("V",),
    construct=lambda dims, _: f"nn.Embedding({dims['V']}, {dims['D']})",
    local=_local,
    flops=lambda _: 0,
    saved=lambda n: n[".."],
    source="torch.nn.Embedding",
)
