"""Looks at what a training needs on this machine: `specc doctor`.

Neither torch nor a device is touched in this process.
"""

import os
import sys
from collections.abc import Mapping

from specc.runtime.detect import detect
from specc.runtime.findings import Finding
from specc.runtime.host import look_at_host
from specc.runtime.installation import look_at_devices, look_at_plugin, look_at_tools, look_at_torch
from specc.runtime.seen import Seen, see
from specc.targets import TARGETS, Target

PYTHONS = ((3, 10), (3, 13))  # as pyproject.toml says


def examine(
    target: str | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """What there is and what is missing for a target.

    Args:
        target: a name of TARGETS; None takes the device family that is present, else the CPU.
        environ: variables of this process, the real ones if None.
    """
    environ = os.environ if environ is None else environ
    record = TARGETS[target] if target else detect(environ)
    seen = see(record, environ)
    return (
        look_at_python(sys.version_info[:3]),
        _target(record, is_chosen=target is not None),
        *look_at_torch(record, seen),
        *_stack(record, seen, environ),
        *look_at_host(environ),
    )


def look_at_python(version: tuple[int, ...]) -> Finding:
    """Whether the package supports this Python."""
    text = ".".join(map(str, version))
    lowest, highest = PYTHONS
    if lowest <= version[:2] <= highest:
        return Finding("Python", "ok", text)
    wanted = f"{lowest[0]}.{lowest[1]} to {highest[0]}.{highest[1]}"
    return Finding("Python", "missing", text, f"use Python {wanted}")


def _target(target: Target, *, is_chosen: bool) -> Finding:
    how = "as asked" if is_chosen else "the device family that is present here"
    return Finding("target", "ok", f"{target.name} ({target.title}), {how}")


def _stack(target: Target, seen: Seen, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """The vendor's part, which a CPU does not have."""
    if target.device == "cpu":
        return ()
    return (
        *look_at_tools(target),
        *look_at_plugin(target, seen),
        *look_at_devices(target, seen, environ),
    )
