"""Judges torch, the plugin, the vendor's stack and the devices against what a target needs."""

from collections import Counter
from collections.abc import Mapping

from specc.runtime.findings import Finding
from specc.runtime.seen import Seen, tool_version
from specc.runtime.symptoms import explain
from specc.targets import Target, parse_version, version_text
from specc.targets.release import find_release, misfit
from specc.targets.troubles import RELEASES, TOOLS

GIB = 2**30


def look_at_torch(target: Target, seen: Seen) -> tuple[Finding, ...]:
    """Whether torch can be imported, is new enough and can train on several ranks."""
    if seen.error:
        return _failed_import(target, seen)
    version = seen.torch or ""
    floor = target.floor.torch
    if floor is not None and parse_version(version) < floor:
        return (Finding("torch", "missing", version, f"use torch {version_text(floor)} or newer"),)
    if not seen.has_distributed:
        text = f"{version}, built without torch.distributed"
        return (Finding("torch", "note", text, "use another build for more than one rank"),)
    return (Finding("torch", "ok", version),)


def _failed_import(target: Target, seen: Seen) -> tuple[Finding, ...]:
    """The last line of the error in words that help; and whether the plugin alone is to blame."""
    symptom = explain(seen.error)
    last = seen.error.splitlines()[-1]
    text = f"{last} ({symptom.cause})" if symptom else last
    plugin = target.plugin.module if target.plugin else "plugin of torch"
    remedy = symptom.remedy if symptom else "run `python -c 'import torch'` to see the whole error"
    if seen.torch is None:
        return (Finding("torch", "missing", text, remedy),)
    if not seen.plugin_breaks_torch:
        return (Finding("torch", "ok", seen.torch), Finding(plugin, "missing", text, remedy))
    way = "TORCH_DEVICE_BACKEND_AUTOLOAD=0 lets torch start without its plugins, on the CPU"
    return (
        Finding("torch", "ok", f"{seen.torch}, but only if it loads no plugin by itself"),
        Finding(plugin, "missing", text, remedy if way[:30] in remedy else f"{remedy}; {way}"),
    )


def look_at_tools(target: Target) -> tuple[Finding, ...]:
    """The versions that the vendor's commands report."""
    findings: list[Finding] = []
    for tool in TOOLS.get(target.name, ()):
        version = tool_version(tool)
        if version is None:
            command = tool.command[0]
            remedy = f"install it, or put the folder of {command} into PATH"
            findings.append(Finding(tool.subject, "note", f"{command} does not tell", remedy))
        else:
            findings.append(Finding(tool.subject, "ok", version))
    return tuple(findings)


def look_at_plugin(target: Target, seen: Seen) -> tuple[Finding, ...]:
    """Whether plugin, torch and SDK are of one release."""
    plugin = target.plugin
    if plugin is None or seen.error or seen.torch is None:
        return ()  # a failed import is told with torch
    version = parse_version(seen.plugin or "")
    floor = target.floor.plugin
    if floor is not None and version < floor:
        remedy = f"install {version_text(floor)} or newer with its torch: {plugin.page}"
        return (Finding(plugin.module, "missing", seen.plugin or "no version", remedy),)
    release = find_release(RELEASES.get(target.name, ()), version)
    if release is None:
        remedy = f"compare torch and SDK with its release page: {plugin.page}"
        return (Finding(plugin.module, "note", f"{seen.plugin}, newer than our table", remedy),)
    sdk = next((tool_version(tool) for tool in TOOLS.get(target.name, ())), None)
    problem = misfit(plugin.module, release, seen.torch, sdk)
    if problem:
        return (Finding(plugin.module, "missing", problem, f"install one set: {plugin.page}"),)
    return (Finding(plugin.module, "ok", f"{seen.plugin}, fits torch {seen.torch}"),)


def look_at_devices(target: Target, seen: Seen, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """The devices that a training could use, and the library through which they talk."""
    if seen.error:
        return ()
    if not seen.devices:
        return (_no_device(target, seen, environ),)
    counted = Counter(seen.devices)
    text = ", ".join(
        f"{count} x {device.name} ({target.arch_text(device.arch)},"
        f" {device.memory_bytes / GIB:.1f} GiB)"
        for device, count in counted.items()
    )
    return (Finding("devices", "ok", text), _collectives(target, seen))


def _no_device(target: Target, seen: Seen, environ: Mapping[str, str]) -> Finding:
    if "+cpu" in (seen.torch or ""):
        remedy = f"install a build of torch for {target.title}"
        return Finding("devices", "missing", "this torch is built for the CPU alone", remedy)
    hidden = environ.get(target.visible)
    text = f"none; {target.visible}={hidden}" if hidden is not None else "none"
    remedy = "check the driver, and in a container that it was started with access to devices"
    return Finding("devices", "missing", text, remedy)


def _collectives(target: Target, seen: Seen) -> Finding:
    name = target.collectives.upper()
    if seen.collectives is None:
        remedy = f"install a build of torch with {name}; one rank needs none"
        return Finding(name, "note", "torch was built without it", remedy)
    return Finding(name, "ok", seen.collectives)
