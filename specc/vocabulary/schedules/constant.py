"""`constant(warmup)`: the learning rate as a function of the optimizer step."""

from __future__ import annotations

from specc.vocabulary.record import ScheduleRecord, Setting

RECORD = ScheduleRecord(
    name="constant",
    settings=(Setting("warmup", "int", default=0),),
    construct=lambda t: f"constant_schedule({t['step']}, {t['peak']}, {t['warmup']})",
    source="specc/parts/schedules.py",
)
