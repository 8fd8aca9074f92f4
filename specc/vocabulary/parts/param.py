"""`Param([..])`: a tensor that is trained, used by its name as a value."""

from __future__ import annotations

from specc.vocabulary.record import PartRecord

RECORD = PartRecord(
    name="Param",
    arguments="shape",
    letters=(),
    takes="",
    settings=(),
    weights=(),
    split=(),
    construct=lambda dims, _: f"nn.Parameter(torch.empty({dims['shape']}))",
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.nn.Parameter",
)
