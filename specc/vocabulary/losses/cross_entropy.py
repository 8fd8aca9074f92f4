"""`cross_entropy(logits, labels, ignore, smooth, z, chunk)`: over the last dim, in fp32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import LossRecord, Setting
from specc.vocabulary.texts import arguments

if TYPE_CHECKING:
    from specc.vocabulary.record import Settings, SettingValue


def _construct(values: tuple[str, ...], settings: Settings) -> str:
    return f"cross_entropy({arguments(*values, **_words(settings))})"


def _classes(values: tuple[str, ...], settings: Settings, group: str) -> str:
    return f"split_cross_entropy({arguments(*values, group, **_words(settings))})"


def _words(settings: Settings) -> dict[str, SettingValue]:
    ignore = settings["ignore"] if settings["ignore"] != -100 else None
    smooth, z = settings["smooth"] or None, settings["z"] or None
    return {"ignore": ignore, "smooth": smooth, "z": z}


RECORD = LossRecord(
    name="cross_entropy",
    takes="logits [.., V], labels i64[..]",
    settings=(
        Setting("ignore", "int", default=-100),
        Setting("smooth", "float", default=0),
        Setting("z", "float", default=0),
        Setting("chunk", "int", default=None, optional=True),
    ),
    count=("..",),
    whole=("V",),
    construct=_construct,
    classes=_classes,
    ignore="ignore",
    chunk="chunk",
    source="torch.nn.functional.cross_entropy; z-loss: PaLM, arXiv 2204.02311, section 5",
)
