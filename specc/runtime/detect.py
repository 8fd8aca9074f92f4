"""Which device family this machine has; without torch, and in a moment, for every command asks."""

import shutil
from collections.abc import Mapping
from importlib.util import find_spec

from specc.targets import TARGETS, Target
from specc.targets.troubles import TOOLS


def detect(environ: Mapping[str, str]) -> Target:
    """The device family whose plugin or tools are on this machine, else the CPU."""
    for target in TARGETS.values():
        if target.plugin and find_spec(target.plugin.module):
            return target
        tools = TOOLS.get(target.name, ())
        if any(shutil.which(tool.command[0], path=environ.get("PATH")) for tool in tools):
            return target
    return TARGETS["cpu"]
