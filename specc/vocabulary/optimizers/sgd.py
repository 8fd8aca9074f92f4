"""`SGD(lr, momentum, weight_decay, nesterov)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import REQUIRED, OptimizerRecord, Setting
from specc.vocabulary.texts import arguments

if TYPE_CHECKING:
    from specc.vocabulary.record import Settings


def _construct(parameters: str, settings: Settings, _flag: str) -> str:
    words = arguments(
        parameters,
        lr="LR",
        momentum=settings["momentum"] or None,
        weight_decay=settings["weight_decay"] or None,
        nesterov=True if settings["nesterov"] else None,
    )
    return f"torch.optim.SGD({words})"


RECORD = OptimizerRecord(
    name="SGD",
    settings=(
        Setting("lr", "float", default=REQUIRED),
        Setting("momentum", "float", default=0),
        Setting("weight_decay", "float", default=0),
        Setting("nesterov", "bool", default=False),
    ),
    construct=_construct,
    state_bytes=lambda settings: 4 if settings["momentum"] else 0,
    group=("lr", "momentum", "weight_decay"),
    source="torch.optim.SGD",
)
