"""Every situation that a file speaks of, and one examination of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.evaluate import evaluate
from specc.check.mesh import worlds
from specc.check.unused import warn_of_unused
from specc.diagnostics import Diagnostic, Report
from specc.targets import TARGETS

if TYPE_CHECKING:
    from specc.plan.facts import Facts
    from specc.program.program import Program
    from specc.situation import Situation

Place = tuple[str, str, int, int]


def situations(program: Program, base: Situation) -> tuple[Situation, ...]:
    """The base, then every `on TARGET`, every profile and every named layout of the file.

    A target, profile or layout that the base chooses stays; only what it leaves open varies.
    """
    found = [base]
    if not base.why_target.startswith("--target"):
        names = [name for name in program.targets if name in TARGETS and name != base.target]
        found += [attrs.evolve(base, target=name) for name in names]
    if base.profile is None:
        found += [attrs.evolve(base, profile=name) for name in program.profiles]
    if base.layout is None:
        found += [attrs.evolve(base, layout=name) for name in program.layouts if name]
    return tuple(found)


def examine(program: Program, base: Situation, report: Report) -> Facts | None:
    """Facts of the base, and the findings of all situations.

    Where nobody says the world, open axes are tried with 2 ranks and with 4. A finding that the
    base lacks carries what differs from the base.
    """
    warn_of_unused(program, report)
    facts: Facts | None = None
    seen: set[Place] = set()
    for situation in situations(program, base):
        for tried in _with_worlds(program, situation):
            own = Report()
            made = evaluate(program, tried, own)
            if tried == base:
                facts = made
            label = difference(tried, base)
            for finding in own.diagnostics:
                if _place(finding) not in seen:
                    seen.add(_place(finding))
                    report.add(attrs.evolve(finding, situation=label))
    return facts


def _with_worlds(program: Program, situation: Situation) -> tuple[Situation, ...]:
    """A situation itself (open worlds at their smallest), and with the next world that acts."""
    larger = worlds(program, situation)[1:]
    return (situation, *(attrs.evolve(situation, world=ranks) for ranks in larger))


def difference(situation: Situation, base: Situation) -> str:
    """What a situation changes of the base: `on musa`, `profile smoke`, `world 4`."""
    words: list[str] = []
    if situation.target != base.target:
        words.append(f"on {situation.target}")
    if situation.profile != base.profile:
        words.append(f"profile {situation.profile}")
    if situation.layout != base.layout:
        words.append(f"layout {situation.layout}")
    if situation.world != base.world:
        words.append(f"world {situation.world}")
    return ", ".join(words)


def _place(finding: Diagnostic) -> Place:
    """What makes two findings one: the code and the place, whatever numbers they state."""
    if not finding.labels:
        return (finding.code, finding.title, 0, 0)
    span = finding.labels[0].span
    return (finding.code, span.source.name, span.start, span.end)
