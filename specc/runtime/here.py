"""What is known of this machine: versions and hardware, as a target's capabilities want them."""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from specc.targets import UNKNOWN, Platform, Target, parse_version


def local_platform(target: Target) -> Platform:
    """Versions of torch and of the plugin, and the architecture of the first device.

    A CPU has none of what depends on them, so torch is not imported for it.
    """
    if not target.binds_device:
        return UNKNOWN
    if target.plugin:
        importlib.import_module(target.plugin.module)
    torch: Any = importlib.import_module("torch")
    api = torch.get_device_module(target.device)
    arch = tuple(api.get_device_capability(0)) if api.device_count() else None
    plugin = _version(target.plugin.module) if target.plugin else None
    return Platform(torch=parse_version(torch.__version__), plugin=plugin, arch=arch)


def _version(package: str) -> tuple[int, ...] | None:
    try:
        return parse_version(version(package))
    except PackageNotFoundError:  # put on the path by hand
        return None
