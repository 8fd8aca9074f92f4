"""`Buffer([..])`: a tensor that is saved and not trained, used by its name as a value."""

from __future__ import annotations

from specc.vocabulary.record import PartRecord

RECORD = PartRecord(
    name="Buffer",
    arguments="shape",
    letters=(),
    takes="",
    settings=(),
    weights=(),
    split=(),
    construct=lambda dims, _: f"torch.zeros({dims['shape']})",
    flops=lambda _: 0,
    saved=lambda _: 0,
    source="torch.nn.Module.register_buffer",
)
