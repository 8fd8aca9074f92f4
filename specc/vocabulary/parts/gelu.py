"""`GELU`: elementwise, as a part of a chain."""

from __future__ import annotations

from specc.vocabulary.record import PartRecord, Setting

RECORD = PartRecord(
    name="GELU",
    arguments="none",
    letters=(),
    takes="x [..] -> [..]",
    settings=(Setting("tanh", "bool", default=False),),
    weights=(),
    split=("..",),
    construct=lambda _, settings: (
        'nn.GELU(approximate="tanh")' if settings["tanh"] else "nn.GELU()"
    ),
    flops=lambda n: 8 * n[".."],
    saved=lambda n: n[".."],
    source="torch.nn.GELU",
)
