"""A small language that says a distributed training once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specc.api import InvalidSpecError, Spec, load
    from specc.diagnostics import SpeccError

__all__ = ["InvalidSpecError", "Spec", "SpeccError", "__version__", "load"]

__version__ = "0.1.0"

_HOMES = {
    "InvalidSpecError": "specc.api",
    "Spec": "specc.api",
    "SpeccError": "specc.diagnostics",
    "load": "specc.api",
}


def __getattr__(name: str) -> object:
    """The public names, imported when they are first asked for: `import specc` reads no grammar."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module `specc` has no attribute `{name}`")
