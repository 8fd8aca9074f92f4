"""`zeros`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import InitRecord

RECORD = InitRecord(
    name="zeros",
    settings=(),
    construct=lambda _: "constant(0.0)",
    positional=(),
    source="torch.nn.init.zeros_",
)
