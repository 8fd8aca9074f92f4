"""`xavier_uniform`: a way to draw a weight."""

from __future__ import annotations

from specc.vocabulary.record import InitRecord, Setting
from specc.vocabulary.texts import number_text

RECORD = InitRecord(
    name="xavier_uniform",
    settings=(Setting("gain", "float", default=1.0),),
    construct=lambda s: f"xavier_uniform({s['fan_in']}, {s['fan_out']}, {number_text(s['gain'])})",
    positional=("gain",),
    source="Glorot and Bengio 2010, AISTATS",
)
