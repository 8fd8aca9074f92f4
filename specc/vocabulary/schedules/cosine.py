"""`cosine(warmup, final)`: the learning rate as a function of the optimizer step."""

from __future__ import annotations

from specc.vocabulary.record import ScheduleRecord, Setting

RECORD = ScheduleRecord(
    name="cosine",
    settings=(
        Setting("warmup", "int", default=0),
        Setting("final", "float", default=0),
    ),
    construct=lambda t: (
        f"cosine_schedule({t['step']}, {t['peak']}, {t['steps']}, {t['warmup']}, {t['final']})"
    ),
    source="specc/parts/schedules.py",
)
