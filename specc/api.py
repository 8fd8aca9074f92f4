"""A spec as a Python object: `load(path)` checks it; the object prints and builds the training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from specc.check.ambient import Wishes
from specc.check.checked import Checked, check_file
from specc.diagnostics import Diagnostic
from specc.diagnostics.render import render
from specc.emit.link import run_text, script
from specc.printing.text import print_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.plan.facts import Facts
    from specc.program.program import Program
    from specc.runtime.session import Built
    from specc.situation import Situation
    from specc.source import Source


class InvalidSpecError(Exception):
    """A spec has errors.

    Args:
        diagnostics: all findings, warnings included; the text of the exception shows them.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n" + render(diagnostics).rstrip())
        self.diagnostics = diagnostics


@attrs.frozen(eq=False)
class Spec:
    """One spec file with its imports, in one situation."""

    checked: Checked

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.checked.path

    @property
    def source(self) -> Source | None:
        """Text of the file; None if it is none."""
        return self.checked.source

    @property
    def program(self) -> Program | None:
        """Names, types and shapes, the same in every situation; None if they do not hold."""
        return self.checked.program

    @property
    def situation(self) -> Situation | None:
        """Target, profile, layout, overrides and world."""
        return self.checked.situation

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings in the situation, in the order of their places."""
        return self.checked.diagnostics

    def findings(self) -> tuple[Diagnostic, ...]:
        """All findings in this situation and in every target, profile and layout of the file."""
        return self.checked.findings()

    def require(self) -> None:
        """Go on only with a spec without errors.

        Raises:
            InvalidSpecError: there are errors.
        """
        if self.checked.failed:
            raise InvalidSpecError(self.diagnostics)

    def facts(self) -> Facts:
        """Everything that is known of the spec: mesh, parameters, placements, units, settings.

        Raises:
            InvalidSpecError: the spec has errors.
            SpeccError: it is a library: it has no `model` or no `train`.
        """
        self.require()
        return self.checked.facts()

    def script(self) -> str:
        """The standalone training script: it needs Python, torch and the device's plugin."""
        return script(print_text(self.facts()))

    def text(self) -> str:
        """The same training with its parts imported from specc, as it is executed here."""
        return run_text(print_text(self.facts()))

    def in_world(self, ranks: int) -> Spec:
        """The same spec for a number of ranks."""
        return Spec(self.checked.in_world(ranks))

    def build(self, resume: str | None = None) -> Built:
        """The sharded model with its optimizer and data, on this rank, for somebody's own loop.

        Inside a process group the model is sharded over it; under torchrun the group is made;
        alone, the world has one rank.

        Args:
            resume: `latest`, or the folder of a checkpoint, to start from.

        Raises:
            InvalidSpecError: the spec has errors in a world of that size.
            SpeccError: this machine lacks what the target needs.
        """
        from specc.runtime import session  # noqa: PLC0415  the one door to torch

        is_open = self.situation is not None and self.situation.world is None
        spec = self.in_world(session.world()) if is_open else self
        return session.build(spec.text(), spec.facts(), resume=resume)


def load(
    path: str | Path,
    *,
    target: str | None = None,
    profile: str | None = None,
    layout: str | None = None,
    overrides: Iterable[str] = (),
    world: int | None = None,
) -> Spec:
    """A spec without errors, checked in one situation.

    Args:
        target: name of a device family, or `auto`; None takes the device of the mesh's cluster,
            else the family of this machine.
        overrides: settings that replace those of the file: `("mesh.dp=4", "train.steps=10")`.
        world: number of ranks; None takes that of the cluster, or of the mesh.

    Raises:
        InvalidSpecError: the spec has errors.
        SpeccError: the file cannot be read, or an override is no setting.
    """
    wishes = Wishes(target, profile, layout, tuple(overrides), world)
    spec = read(Path(path), wishes)
    spec.require()
    return spec


def read(path: Path, wishes: Wishes) -> Spec:
    """A spec with all that is wrong with it.

    Raises:
        SpeccError: the file cannot be read, or an override is no setting.
    """
    return Spec(check_file(path, wishes, present))


def present() -> str:
    """Name of the device family of this machine."""
    from specc.runtime.detect import detect  # noqa: PLC0415  runtime is reached late

    return detect({}).name
