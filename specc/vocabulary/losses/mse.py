"""`mse(out, target)`: the mean squared error over all elements."""

from __future__ import annotations

from specc.vocabulary.record import LossRecord

RECORD = LossRecord(
    name="mse",
    takes="out [..], target [..]",
    settings=(),
    count=("..",),
    whole=(),
    construct=lambda values, _: f"squared_error({', '.join(values)})",
    source="torch.nn.functional.mse_loss",
)
