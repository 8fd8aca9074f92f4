"""A spec as a Python object: `load(path)` checks it; the object prints and builds the training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from specc.check.ambient import Wishes, situate
from specc.check.evaluate import evaluate
from specc.check.mesh import worlds
from specc.check.situations import examine
from specc.diagnostics import Diagnostic, Report, SpeccError
from specc.diagnostics.render import render
from specc.emit.link import run_text, script
from specc.printing.text import print_text
from specc.resolve import resolve
from specc.syntax.parse import parse
from specc.syntax.read import read_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.plan.facts import Facts
    from specc.program.program import Program
    from specc.runtime.session import Built
    from specc.situation import Situation
    from specc.source import Source
    from specc.syntax import tree


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
    """One spec file with its imports, in one situation.

    Args:
        path: of the file.
        source: None if the file is no text.
        tree: what the file says; None if there is no text.
        program: None if names, types or shapes do not hold.
        situation: target, profile, layout, overrides and world; None if there is no program.
        diagnostics: all findings in that situation.
    """

    path: Path
    source: Source | None
    tree: tree.File | None
    program: Program | None
    situation: Situation | None
    diagnostics: tuple[Diagnostic, ...]
    _facts: Facts | None = attrs.field(default=None, repr=False)
    _of_file: tuple[Diagnostic, ...] = attrs.field(default=(), repr=False)  # in any situation

    @property
    def failed(self) -> bool:
        """Whether there is an error among the findings."""
        return any(finding.severity == "error" for finding in self.diagnostics)

    def require(self) -> None:
        """Go on only with a spec without errors.

        Raises:
            InvalidSpecError: there are errors.
        """
        if self.failed:
            raise InvalidSpecError(self.diagnostics)

    def facts(self) -> Facts:
        """Everything that is known of the spec: mesh, parameters, placements, units, settings.

        Raises:
            InvalidSpecError: the spec has errors.
            SpeccError: it is a library: it has no `model` or no `train`.
        """
        self.require()
        if self._facts is None:
            raise SpeccError(f"{self.path} is no run: it has no `model` or no `train`", exit_code=2)
        return self._facts

    def script(self) -> str:
        """The standalone training script: it needs Python, torch and the device's plugin."""
        return script(print_text(self.facts()))

    def text(self) -> str:
        """The same training with its parts imported from specc, as it is executed here."""
        return run_text(print_text(self.facts()))

    def findings(self) -> tuple[Diagnostic, ...]:
        """All findings in this situation and in every target, profile and layout of the file."""
        if self.program is None or self.situation is None or self._text_failed:
            return self.diagnostics
        report = Report()
        report.extend(self._of_file)
        examine(self.program, self.situation, report)
        return report.diagnostics

    def extern_findings(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the externs, which are imported for it, and built without memory."""
        if self.program is None or self.failed or not self.program.externs:
            return ()
        from specc.runtime.externs import check_externs  # noqa: PLC0415  the one door to torch

        return check_externs(self.program, self._facts)

    def worlds(self) -> tuple[int, ...]:
        """The numbers of ranks that the findings are about: the said one, else two that act."""
        if self.program is None or self.situation is None or self._facts is None:
            return ()
        return worlds(self.program, self.situation) or (self._facts.mesh.world,)

    def in_world(self, ranks: int) -> Spec:
        """The same spec for a number of ranks."""
        if self.program is None or self.situation is None:
            return self
        return self.in_situation(attrs.evolve(self.situation, world=ranks))

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

        spec = self.in_world(session.world()) if self._is_open else self
        return session.build(spec.text(), spec.facts(), resume=resume)

    def in_situation(self, situation: Situation) -> Spec:
        """The spec in another situation; the findings of its text and names stay."""
        if self.program is None or self._text_failed:
            return self
        report = Report()
        report.extend(self._of_file)
        facts = evaluate(self.program, situation, report)
        return attrs.evolve(self, situation=situation, diagnostics=report.diagnostics, facts=facts)

    @property
    def _text_failed(self) -> bool:
        return any(finding.severity == "error" for finding in self._of_file)

    @property
    def _is_open(self) -> bool:
        """Whether nobody has said how many ranks there are."""
        return self.situation is not None and self.situation.world is None


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
        target: `cpu`, `cuda`, `musa`; None takes the device of the mesh's cluster, else the
            family of this machine.
        overrides: settings that replace those of the file: `("mesh.dp=4", "train.steps=10")`.
        world: number of ranks; None takes that of the cluster, or of the mesh.

    Raises:
        InvalidSpecError: the spec has errors.
        SpeccError: the file cannot be read.
    """
    spec = read(Path(path), Wishes(target, profile, layout, tuple(overrides), world))
    spec.require()
    return spec


def read(path: Path, wishes: Wishes) -> Spec:
    """A spec with all that is wrong with it.

    Raises:
        SpeccError: the file cannot be read, or an override is no setting.
    """
    source = _source(path)
    if isinstance(source, tuple):
        return Spec(path, None, None, None, None, source)
    report = Report()
    file, found = parse(source)
    report.extend(found)
    program = resolve(file, path, report)
    if program is None:
        return Spec(path, source, file, None, None, report.diagnostics)
    situation = situate(program, wishes, present, report)
    found = report.diagnostics
    return Spec(path, source, file, program, situation, found, None, found).in_situation(situation)


def present() -> str:
    """Name of the device family of this machine."""
    from specc.runtime.seen import detect  # noqa: PLC0415  runtime is reached late

    return detect({}).name


def _source(path: Path) -> Source | tuple[Diagnostic, ...]:
    try:
        return read_source(path)
    except OSError as error:
        raise SpeccError(f"cannot read {path}: {error.strerror}", exit_code=2) from None
