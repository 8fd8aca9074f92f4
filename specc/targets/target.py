"""The record of a device family: strings that a script contains, choices, capabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import attrs

from specc.diagnostics import Diagnostic, Help, Label
from specc.diagnostics.diagnostic import Severity
from specc.source import Span
from specc.targets.platform import ALWAYS, Needs, Platform
from specc.targets.version import Range, Version, version_text


@attrs.frozen
class Plugin:
    """A package that registers the device with torch.

    Args:
        comment: why its import looks unused, for the line in a script.
        page: where it is to be had.
    """

    module: str
    comment: str
    page: str


@attrs.frozen
class Calls:
    """Python text of calls on the device; empty where the device has no such call.

    Args:
        set_device: binds the process to its device; `device` is a local name.
        peak_bytes: most bytes that tensors took since the last reset.
        total_bytes: memory of the device.
    """

    set_device: str = ""
    synchronize: str = ""
    peak_bytes: str = ""
    reset_peak: str = ""
    total_bytes: str = ""
    capability: str = ""


@attrs.frozen
class Variable:
    """An environment variable that torch or a plugin reads when Python starts.

    Args:
        why: what it does, for the header of a script.
        needs: the machines that this is about.
    """

    name: str
    value: str
    why: str
    needs: Needs
    source: str


@attrs.frozen
class Capability:
    """Something that a spec can ask of a target and not every machine of it has.

    Args:
        needs: the machines that have it.
        title: of the finding where it is missing; names in backticks.
        label: at the place that asks for it.
        help: the way out.
        source: who says so.
        severity: `warning` where the training is still right, only slower or larger.
        most: sizes up to this one are within every machine's reach, whatever `needs` says.
        beside: combinations of sizes that are, too.
    """

    name: str
    needs: Needs = ALWAYS
    title: str = ""
    label: str = ""
    help: str = ""
    source: str = ""
    severity: Severity = "error"
    most: int | None = None
    beside: tuple[tuple[int, ...], ...] = ()

    def covers(self, sizes: tuple[int, ...]) -> bool:
        """Whether these sizes are within every machine's reach."""
        if self.most is None:
            return False
        return sizes in self.beside or all(size <= self.most for size in sizes)


@attrs.frozen
class Target:
    """One device family. Whatever a stage must know of a device, it reads here.

    Args:
        name: after `--target` and `on`.
        title: for people.
        device: torch's device type.
        backend: for `init_process_group`.
        collectives: name of the collective library.
        plugin: None if torch has the device built in.
        binds_device: whether `init_process_group` gets `device_id`.
        is_host: the device is the host itself, so nothing can be moved from one to the other.
        visible: variable that hides devices.
        dtypes: words that `params` and `compute` may take.
        optimizer_flag: the fast form of an optimizer that has both.
        full_fp32: statements that switch TF32 off, on every version of torch that is supported.
        tf32: statements that switch it on.
        averages: versions of torch whose backend averages where FSDP2 asks for an average; others
            return the sum.
        arch_prefix: `mp_` of `mp_22`.
        cards: names that people know an architecture by.
        floor: what is taken for granted of a machine that is not known.
        variables: what a launcher sets, each on the machines that need it.
        harmless: values that these variables must not differ from, if somebody has set them.
    """

    name: str
    title: str
    device: str
    backend: str
    collectives: str
    plugin: Plugin | None
    binds_device: bool
    is_host: bool
    visible: str
    calls: Calls
    dtypes: tuple[str, ...]
    optimizer_flag: Literal["fused", "foreach"]
    full_fp32: tuple[str, ...]
    tf32: tuple[str, ...]
    averages: Range
    arch_prefix: str
    cards: tuple[tuple[Version, str], ...]
    floor: Platform
    variables: tuple[Variable, ...]
    harmless: tuple[Variable, ...]
    capabilities: tuple[Capability, ...]

    def capability(self, name: str) -> Capability:
        """The row of the table.

        Raises:
            KeyError: if no target knows the name (a caller's bug).
        """
        for capability in self.capabilities:
            if capability.name == name:
                return capability
        raise KeyError(name)

    def lack(self, name: str, platform: Platform, sizes: tuple[int, ...] = ()) -> Lack | None:
        """What is missing for a capability on a machine; None if nothing is.

        Args:
            sizes: what is asked for, where there is a limit: head sizes of queries and of values.
        """
        capability = self.capability(name)
        met = capability.needs.met(platform, self.floor)
        if met or capability.covers(sizes):
            return None
        return Lack(self, capability, platform, is_certain=met is False)

    def environment(self, platform: Platform) -> tuple[Variable, ...]:
        """The variables to set on a machine; none that only some machines need if it is not known.

        What a launcher sets blindly can break a training: see `harmless`. A text for people shows
        `variables`, each with `needs_text`.
        """
        return tuple(v for v in self.variables if v.needs.met(platform, self.floor))

    def harmful(self, platform: Platform, environ: Mapping[str, str]) -> tuple[Variable, ...]:
        """Variables that somebody has set to a value that breaks a training on this machine."""
        return tuple(
            variable
            for variable in self.harmless
            if variable.needs.met(platform, self.floor)
            and environ.get(variable.name, variable.value) != variable.value
        )

    def ddp_options(self, accumulate: int) -> Mapping[str, bool]:
        """Keywords of DistributedDataParallel.

        A static graph saves the search for unused parameters, but its reducer stops with an
        internal assertion when the first backward runs under `no_sync`, so there is none with
        gradient accumulation (measured: torch 2.7.1, 2.9.1 and 2.13.0, gloo).
        """
        options = {"gradient_as_bucket_view": True}
        return {**options, "static_graph": True} if accumulate == 1 else options

    def arch_text(self, arch: Version) -> str:
        """`mp_22 (S4000)`."""
        card = dict(self.cards).get(arch)
        name = self.arch_prefix + "".join(map(str, arch))
        return f"{name} ({card})" if card else name

    def needs_text(self, needs: Needs) -> str:
        """`torch_musa 2.9.0 or newer and mp_31 (S5000) or newer`; empty if nothing is needed."""
        words: list[str] = []
        if needs.torch:
            words.append(f"torch {needs.torch.text}")
        if needs.plugin and self.plugin:
            words.append(f"{self.plugin.module} {needs.plugin.text}")
        if needs.arch.at_least:
            words.append(f"{self.arch_text(needs.arch.at_least)} or newer")
        if needs.arch.below:
            words.append(f"hardware before {self.arch_text(needs.arch.below)}")
        return " and ".join(words)

    def platform_text(self, platform: Platform) -> str:
        """`mp_22 (S4000), torch_musa 2.7.1`: what is known of a machine; empty for nothing."""
        words: list[str] = []
        if platform.arch is not None:
            words.append(self.arch_text(platform.arch))
        if platform.torch is not None:
            words.append(f"torch {version_text(platform.torch)}")
        if platform.plugin is not None and self.plugin:
            words.append(f"{self.plugin.module} {version_text(platform.plugin)}")
        return ", ".join(words)


@attrs.frozen
class Lack:
    """A capability that a machine has not, or, if it is not known, may not have."""

    target: Target
    capability: Capability
    platform: Platform
    is_certain: bool

    def diagnostic(self, span: Span, also: Iterable[tuple[Span, str]] = ()) -> Diagnostic:
        """The finding at the place that asks for the capability."""
        capability = self.capability
        labels = (Label(span, capability.label), *(Label(place, text) for place, text in also))
        severity: Severity = capability.severity if self.is_certain else "warning"
        helps = (Help(capability.help),) if capability.help else ()
        return Diagnostic("E0702", capability.title, labels, tuple(self._notes()), helps, severity)

    def _notes(self) -> Iterable[str]:
        needed = self.target.needs_text(self.capability.needs)
        known = self.target.platform_text(self.platform)
        if needed and self.is_certain:
            yield f"it needs {needed}; here: {known}"
        elif needed:
            yield f"it needs {needed}; {known or 'the machine is not known here'}"
        if self.capability.source:
            yield f"source: {self.capability.source}"
