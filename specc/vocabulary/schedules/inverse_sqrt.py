"""`inverse_sqrt(warmup)`: the learning rate as a function of the optimizer step."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, ScheduleRecord, Setting

RECORD = ScheduleRecord(
    name="inverse_sqrt",
    settings=(Setting("warmup", "int", default=REQUIRED),),
    construct=lambda t: f"inverse_sqrt_schedule({t['step']}, {t['peak']}, {t['warmup']})",
    source="specc/parts/schedules.py",
)
