"""Small pieces of Python text that records print."""

from __future__ import annotations

import re

_SIMPLE = re.compile(r"[\w.]+(\([^()]*(\([^()]*\)[^()]*)*\))?(\.\w+\([^()]*\))*")


def method(value: str, call: str) -> str:
    """`value.call()`, with the value in parentheses where Python needs them."""
    return f"{value}{call}" if _SIMPLE.fullmatch(value) else f"({value}){call}"


def arguments(*words: str, **settings: object) -> str:
    """Arguments of a call: words in order, then the settings that are not None, as `name=value`."""
    named = [f"{name}={value}" for name, value in settings.items() if value is not None]
    return ", ".join([*words, *named])
