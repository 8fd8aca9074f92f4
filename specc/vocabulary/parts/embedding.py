"""`Embedding(V -> D)`: one row for each id."""

from __future__ import annotations

from specc.vocabulary.record import PartRecord, Weight

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
    flops=lambda _: 0,
    saved=lambda n: n[".."],
    source="torch.nn.Embedding",
)
