"""`Dropout(p)`: zeroes elements chosen by seed, step, place in the model and global position."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, PartRecord, Setting

RECORD = PartRecord(
    name="Dropout",
    arguments="none",
    letters=(),
    takes="x [..] -> [..]",
    settings=(Setting("p", "float", default=REQUIRED),),
    weights=(),
    split=("..",),
    construct=lambda dims, settings: f"Dropout({settings['p']}, {dims['start']})",
    positional=("p",),
    flops=lambda n: 10 * n[".."],
    saved=lambda n: n[".."],
    source="Srivastava et al. 2014, JMLR 15",
)
