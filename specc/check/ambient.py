"""The Situation of one use of a spec, from what a person asks for and what the spec says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.assignments import flatten
from specc.check.overrides import settle
from specc.diagnostics import Diagnostic, Help, Report, SpeccError
from specc.diagnostics.excerpt import COMMAND_LINE
from specc.situation import Override, Situation
from specc.source import Source
from specc.syntax.parse import parse_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from specc.program.program import Program

ASKED = "--target"
"""How a target was chosen that a person named."""


@attrs.frozen
class Wishes:
    """What a person asks for; None and nothing leave the choice to the spec.

    Args:
        target: name of a record of `targets/`; `auto` is the family that is present.
        overrides: settings as they follow `--set`, such as `mesh.dp=4`.
        world: number of ranks.
    """

    target: str | None = None
    profile: str | None = None
    layout: str | None = None
    overrides: tuple[str, ...] = ()
    world: int | None = None


def situate(
    program: Program, wishes: Wishes, present: Callable[[], str], report: Report
) -> Situation:
    """The situation that holds, in this order: the person, the spec's cluster, the machine.

    Args:
        present: name of the device family on this machine; asked only if nobody else says.

    Raises:
        SpeccError: an override is no setting at all.
    """
    chosen = Situation(
        target="",
        profile=wishes.profile,
        layout=wishes.layout,
        overrides=overrides(wishes.overrides, report),
        world=wishes.world,
    )
    target, why = _target(program, wishes.target, chosen, present)
    return attrs.evolve(chosen, target=target, why_target=why)


def _target(
    program: Program, asked: str | None, chosen: Situation, present: Callable[[], str]
) -> tuple[str, str]:
    """The target and how it was chosen."""
    if asked not in (None, "auto"):
        return asked, ASKED
    device = settle(program, chosen, Report()).get("cluster.device")
    if asked is None and device is not None and program.cluster is not None:
        return device.value.span.text.strip('"'), f"the device of cluster {program.cluster.name}"
    return present(), "the device family of this machine"


def overrides(arguments: Iterable[str], report: Report) -> tuple[Override, ...]:
    """The settings of `--set` arguments; what is wrong in one is reported with the argument shown.

    Raises:
        SpeccError: an argument is empty or gives no value.
    """
    found: list[Override] = []
    for argument in arguments:
        if not any(sign in argument for sign in "=:{"):
            path = argument.strip() or "PATH"
            raise SpeccError(
                f"`--set {argument}` gives no value: write `--set {path}=VALUE`", exit_code=2
            )
        settings, findings = parse_settings(Source(COMMAND_LINE, argument))
        report.extend(_unfixable(finding) for finding in findings)
        for setting in flatten(settings, (), "--set"):
            found += [
                Override(path, setting.value, argument, setting.span) for path in setting.paths
            ]
    return tuple(found)


def _unfixable(finding: Diagnostic) -> Diagnostic:
    """A finding about an argument: nobody can write its edits into a file."""
    return attrs.evolve(finding, helps=tuple(Help(way.text) for way in finding.helps))
