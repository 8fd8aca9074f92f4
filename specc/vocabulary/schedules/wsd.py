"""`wsd(warmup, decay, final)`: the learning rate as a function of the optimizer step."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, ScheduleRecord, Setting

RECORD = ScheduleRecord(
    name="wsd",
    settings=(
        Setting("warmup", "int", default=0),
        Setting("decay", "int", default=REQUIRED),
        Setting("final", "float", default=0),
    ),
    construct=lambda t: (
        f"wsd_schedule({t['step']}, {t['peak']}, {t['steps']}, "
        f"{t['decay']}, {t['warmup']}, {t['final']})"
    ),
    source="specc/parts/schedules.py",
)
