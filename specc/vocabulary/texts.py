"""Small pieces of Python text that records print."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specc.vocabulary.record import Raw, SettingValue


def number_text(value: object) -> str:
    """A number as people write it in Python: `128_256`, `0.02`, `3e-4`, `5e5`."""
    assert isinstance(value, (int, float))
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if value == 0.0 or 0.001 < abs(value) < 10_000:
        return repr(value)
    digits, _, exponent = f"{value:e}".partition("e")
    short = f"{float(digits):g}e{int(exponent)}"
    return short if float(short) == value else repr(value)


def whole(value: object) -> int:
    """A setting that the checker has found to be a whole number."""
    assert isinstance(value, int)
    return value


def method(value: str, call: str) -> str:
    """`value.call()`, with the value in parentheses where Python needs them."""
    node = ast.parse(value, mode="eval").body
    atom = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"{value}{call}" if atom else f"({value}){call}"


def arguments(*words: str, **settings: SettingValue | Raw) -> str:
    """Arguments of a call: words in order, then the settings that are not None, as `name=value`."""
    named = [f"{name}={_shown(value)}" for name, value in settings.items() if value is not None]
    return ", ".join([*words, *named])


def _shown(value: SettingValue | Raw) -> str:
    match value:
        case bool():
            return repr(value)
        case int() | float():
            return number_text(value)
        case tuple():  # betas
            return f"({', '.join(_shown(item) for item in value)})"
        case _:
            return str(value)
