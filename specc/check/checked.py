"""A spec file in one situation, with all that is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from specc.check.ambient import Wishes, situate
from specc.check.evaluate import evaluate
from specc.check.mesh import worlds
from specc.check.situations import examine
from specc.diagnostics import Diagnostic, Report, SpeccError
from specc.resolve import resolve
from specc.syntax.parse import parse
from specc.syntax.read import read_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from specc.plan.facts import Facts
    from specc.program.program import Program
    from specc.situation import Situation
    from specc.source import Source
    from specc.syntax import tree


@attrs.frozen(eq=False)
class Checked:
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

    def facts(self) -> Facts:
        """Everything that is known of a spec without errors.

        Raises:
            SpeccError: it is a library: it has no `model` or no `train`.
        """
        if self._facts is None:
            raise SpeccError(f"{self.path} is no run: it has no `model` or no `train`", exit_code=2)
        return self._facts

    def findings(self) -> tuple[Diagnostic, ...]:
        """All findings in this situation and in every target, profile and layout of the file."""
        if self.program is None or self.situation is None or self._file_failed:
            return self.diagnostics
        report = Report()
        report.extend(self._of_file)
        examine(self.program, self.situation, report)
        return report.diagnostics

    def worlds(self) -> tuple[int, ...]:
        """The numbers of ranks that the findings are about: the said one, else two that act."""
        if self.program is None or self.situation is None or self._facts is None:
            return ()
        return worlds(self.program, self.situation) or (self._facts.mesh.world,)

    def in_world(self, ranks: int) -> Checked:
        """The same spec for a number of ranks."""
        if self.situation is None:
            return self
        return self.in_situation(attrs.evolve(self.situation, world=ranks))

    def in_situation(self, situation: Situation) -> Checked:
        """The spec in another situation; the findings of its text and names stay."""
        if self.program is None or self._file_failed:
            return self
        report = Report()
        report.extend(self._of_file)
        facts = evaluate(self.program, situation, report)
        return attrs.evolve(self, situation=situation, diagnostics=report.diagnostics, facts=facts)

    @property
    def _file_failed(self) -> bool:
        return any(finding.severity == "error" for finding in self._of_file)


def check_file(path: Path, wishes: Wishes, present: Callable[[], str]) -> Checked:
    """A spec with all that is wrong with it.

    Args:
        present: name of the device family on this machine; asked only if nobody says a target.

    Raises:
        SpeccError: the file cannot be read, or an override is no setting.
    """
    source = _source(path)
    if isinstance(source, tuple):
        return Checked(path, None, None, None, None, source)
    report = Report()
    file, found = parse(source)
    report.extend(found)
    program = resolve(file, path, report)
    if program is None:
        return Checked(path, source, file, None, None, report.diagnostics)
    situation = situate(program, wishes, present, report)
    found = report.diagnostics
    checked = Checked(path, source, file, program, situation, found, None, found)
    return checked.in_situation(situation)


def _source(path: Path) -> Source | tuple[Diagnostic, ...]:
    try:
        return read_source(path)
    except OSError as error:
        raise SpeccError(f"cannot read {path}: {error.strerror}", exit_code=2) from None
