"""`AdamW(lr, betas, eps, weight_decay, decay)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import REQUIRED, OptimizerRecord, Setting
from specc.vocabulary.texts import arguments

if TYPE_CHECKING:
    from specc.vocabulary.record import Settings


def _construct(parameters: str, settings: Settings, flag: str) -> str:
    betas, eps, decay = settings["betas"], settings["eps"], settings["weight_decay"]
    words = arguments(
        parameters,
        lr="LR",
        betas=betas if betas != (0.9, 0.999) else None,
        eps=eps if eps != 1e-8 else None,
        weight_decay=decay if decay != 0.01 else None,
    )
    return f"torch.optim.AdamW({words}{f', {flag}=True' if flag else ''})"


RECORD = OptimizerRecord(
    name="AdamW",
    settings=(
        Setting("lr", "float", default=REQUIRED),
        Setting("betas", "list", default=(0.9, 0.999)),
        Setting("eps", "float", default=1e-8),
        Setting("weight_decay", "float", default=0.01),
        Setting("decay", "word", default="all", choices=("all", "matrices")),
    ),
    construct=_construct,
    state_bytes=lambda _: 8,
    group=("lr", "betas", "eps", "weight_decay"),
    source="Loshchilov and Hutter 2019, arXiv 1711.05101; torch.optim.AdamW",
)
