"""Small pieces of Python text that records print."""

from __future__ import annotations

import re

_SIMPLE = re.compile(r"[\w.]+(\([^()]*(\([^()]*\)[^()]*)*\))?(\.\w+\([^()]*\))*")


def number_text(value: float) -> str:
    """A number as people write it in Python: `128_256`, `0.02`, `3e-4`, `5e5`."""
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if value == 0 or 0.001 < abs(value) < 10_000:
        return repr(value)
    mantissa, _, exponent = repr(float(f"{value!r}")).partition("e")
    if not exponent:
        digits = f"{value:.17e}".partition("e")
        mantissa, exponent = repr(float(f"{value:e}".partition("e")[0])), digits[2]
        if float(f"{mantissa}e{exponent}") != value:
            return repr(value)
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def method(value: str, call: str) -> str:
    """`value.call()`, with the value in parentheses where Python needs them."""
    return f"{value}{call}" if _SIMPLE.fullmatch(value) else f"({value}){call}"


def arguments(*words: str, **settings: object) -> str:
    """Arguments of a call: words in order, then the settings that are not None, as `name=value`."""
    named = [f"{name}={_shown(value)}" for name, value in settings.items() if value is not None]
    return ", ".join([*words, *named])


def _shown(value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(_shown(item) for item in value)})"
    return str(value)
