"""Finds records by kind and name; a module is imported when its name is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from specc.vocabulary.later import LATER


@cache
def modules(kind: str) -> frozenset[str]:
    """Names of the modules of one kind, such as `parts` or `losses`."""
    package = import_module(f"specc.vocabulary.{kind}")
    return frozenset(info.name for info in iter_modules(package.__path__))


@cache
def find(kind: str, name: str) -> Any:  # noqa: ANN401  the record class depends on the kind
    """The record of a name, or None: `RECORD` in the module of the name in lower case."""
    module = name.lower()
    if module in modules(kind):
        record = import_module(f"specc.vocabulary.{kind}.{module}").RECORD
        return record if record.name == name else None
    return LATER.get((kind, name))


@cache
def known_names(kind: str) -> tuple[str, ...]:
    """Every name of one kind that can be built; imports all modules of the kind."""
    found = (import_module(f"specc.vocabulary.{kind}.{m}").RECORD.name for m in modules(kind))
    return tuple(sorted(found))
