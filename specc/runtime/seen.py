"""What torch and the vendor's tools report, gathered in processes of their own."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from specc.targets import Target
from specc.targets.symptom import VersionTool

PROBE = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
PROBE_S = 180  # importing torch on a loaded machine
TOOL_S = 30


@attrs.frozen
class Device:
    """One device as torch sees it.

    Args:
        arch: major and minor of its capability.
    """

    name: str
    memory_bytes: int
    arch: tuple[int, int]


@attrs.frozen
class Seen:
    """What the probe reported.

    Args:
        torch: version; None if it cannot be imported.
        plugin: version of the package that registers the device; None if there is none.
        collectives: version of the collective library.
        error: what the probe wrote to standard error before it failed; empty if it did not.
        plugin_breaks_torch: torch can be imported only if it does not load plugins by itself.
    """

    torch: str | None = None
    plugin: str | None = None
    has_distributed: bool = False
    devices: tuple[Device, ...] = ()
    collectives: str | None = None
    error: str = ""
    plugin_breaks_torch: bool = False


def see(target: Target, environ: Mapping[str, str]) -> Seen:
    """What torch sees of a target; a probe that fails is told, not raised."""
    plugin = target.plugin.module if target.plugin else ""
    report, error = _probe((target.device, plugin, target.collectives), environ)
    if report is not None:
        return _seen(report)
    for off in ({}, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}):
        alone, _ = _probe(("cpu", "", ""), {**environ, **off})
        if alone is not None:
            return Seen(torch=alone["torch"], error=error, plugin_breaks_torch=bool(off))
    return Seen(error=error)


def tool_version(tool: VersionTool) -> str | None:
    """The version that a tool reports; None if it is not installed or says nothing of it."""
    found = re.search(tool.pattern, _output(tool.command))
    return found[1] if found else None


def _probe(
    arguments: tuple[str, str, str], environ: Mapping[str, str]
) -> tuple[dict[str, Any] | None, str]:
    command = [sys.executable, "-c", PROBE, *arguments]
    try:
        done = subprocess.run(
            command,
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=PROBE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"importing torch took longer than {PROBE_S} s"
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1]), ""
    return None, done.stderr.strip() or f"the probe ended with exit code {done.returncode}"


def _seen(report: Mapping[str, Any]) -> Seen:
    return Seen(
        torch=report["torch"],
        plugin=report.get("plugin"),
        has_distributed=report["distributed"],
        devices=tuple(
            Device(device["name"], device["memory_bytes"], (device["arch"][0], device["arch"][1]))
            for device in report.get("devices", ())
        ),
        collectives=report.get("collectives"),
    )


def _output(command: tuple[str, ...]) -> str:
    program = shutil.which(command[0])
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *command[1:]], capture_output=True, text=True, timeout=TOOL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
