"""Evaluated settings as a spec writes them: `AdamW(lr = 0.0003, betas = [0.9, 0.95])`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.record import Constructor

if TYPE_CHECKING:
    from specc.vocabulary.record import SettingValue


def setting_text(value: SettingValue) -> str:
    """A value; words stay bare, other texts are quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, Constructor):
        return constructor_text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(setting_text(item) for item in value) + "]"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return str(value)
    return value if value.isidentifier() else f'"{value}"'


def constructor_text(constructor: Constructor) -> str:
    """A call with all of its settings, defaults included; the bare word where it has none."""
    if not constructor.settings:
        return constructor.name
    words = [f"{name} = {setting_text(value)}" for name, value in constructor.settings.items()]
    return f"{constructor.name}({', '.join(words)})"
