"""`ones`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import InitRecord

RECORD = InitRecord(
    name="ones",
    settings=(),
    construct=lambda _: "constant(1.0)",
    positional=(),
    source="torch.nn.init.ones_",
)
