"""Prints what torch sees of a device type, as one line of JSON.

`doctor` runs this text in a process of its own, since importing torch may fail in many ways:
arguments are the device type, the plugin and the collective library, empty where there is none.
"""

import importlib
import json
import sys
from typing import Any

import torch
import torch.distributed as dist


def devices(api: Any) -> list[dict[str, Any]]:  # noqa: ANN401  the module of a device type
    """Name, memory and architecture of each device."""
    found: list[dict[str, Any]] = []
    for index in range(api.device_count()):
        properties = api.get_device_properties(index)
        major, minor = api.get_device_capability(index)
        found.append(
            {
                "name": api.get_device_name(index),
                "memory_bytes": properties.total_memory,
                "arch": [major, minor],
            }
        )
    return found


def library_version(api: Any, collectives: str) -> str | None:  # noqa: ANN401  as above
    """Version of the collective library; None if torch was built without it."""
    library = getattr(api, collectives, None)
    if library is None:
        return None
    version = library.version()
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


def main() -> None:
    """Print the report."""
    device, plugin, collectives = sys.argv[1:4]
    seen: dict[str, Any] = {"torch": torch.__version__, "distributed": dist.is_available()}
    if plugin:
        module = importlib.import_module(plugin)
        seen["plugin"] = getattr(module, "__version__", "")
    api = getattr(torch, device, None)
    if device != "cpu" and api is not None and api.is_available():
        seen["devices"] = devices(api)
        seen["collectives"] = library_version(api, collectives)
    print(json.dumps(seen))  # noqa: T201  for the process that reads us


if __name__ == "__main__":
    main()
