"""Device families, found by discovery: a module of this folder that defines TARGET is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from specc.targets.platform import UNKNOWN, Needs, Platform
from specc.targets.target import Calls, Capability, Lack, Plugin, Target, Variable
from specc.targets.version import Range, Version, parse_version, version_text

__all__ = [
    "HOST",
    "TARGETS",
    "UNKNOWN",
    "Calls",
    "Capability",
    "Lack",
    "Needs",
    "Platform",
    "Plugin",
    "Range",
    "Target",
    "Variable",
    "Version",
    "parse_version",
    "version_text",
]


def _found() -> dict[str, Target]:
    names = sorted(module.name for module in iter_modules(__path__))
    modules = (import_module(f"{__name__}.{name}") for name in names)
    targets = (getattr(module, "TARGET", None) for module in modules)
    return {target.name: target for target in targets if target is not None}


TARGETS = _found()
HOST = next(target for target in TARGETS.values() if target.is_host)
