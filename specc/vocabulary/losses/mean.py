"""`mean(x)`: the mean over all elements of the global batch."""

from __future__ import annotations

from specc.vocabulary.record import LossRecord

RECORD = LossRecord(
    name="mean",
    takes="x [..]",
    settings=(),
    count=("..",),
    whole=(),
    construct=lambda values, _: f"total({values[0]})",
    source="torch.mean",
)
