"""`ulysses(heads, repeat_kv = false)`: inside attention an axis splits heads instead of tokens."""

from __future__ import annotations

from specc.vocabulary.record import REQUIRED, MethodRecord, Setting

RECORD = MethodRecord(
    name="ulysses",
    settings=(
        Setting("heads", "dim", default=REQUIRED),
        Setting("repeat_kv", "bool", default=False),
    ),
    positional=("heads",),
)
