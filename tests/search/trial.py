"""Tries one spec: it is judged without a fault of ours, prints as it should, and trains alike."""

from __future__ import annotations

import traceback
from collections import Counter
from math import isfinite
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import attrs

from specc.api import read
from specc.check.ambient import Wishes
from specc.check.meshes import Candidate, meshes
from specc.diagnostics.render import render
from specc.emit.link import run_text, script
from specc.plan.collectives import collectives
from specc.plan.exact import exact
from specc.printing.text import print_text
from specc.runtime.pool import JobFailed, Pool
from specc.runtime.verdict import judge
from specc.syntax.format import format_text
from tests.search.weights import faults

if TYPE_CHECKING:
    from specc.api import Spec
    from specc.diagnostics import Diagnostic
    from specc.runtime.observed import Training

TIMEOUT_S = 240  # of one mesh; a second or two where nothing else runs
STEPS = 3
SHOWN = 3  # faults of one mesh


@attrs.define
class Trial:
    """What one spec did.

    Args:
        axes: of its mesh, outermost first.
        legal: how many meshes are legal.
        tried: those that were trained, one rank apart.
        refused: the meshes that are not legal, by the code of the first error.
        faults: what is wrong, each with the mesh where it is.
        scripts: emitted texts by name, for ruff.
        note: the verdict of a spec that is legal and has no faults.
    """

    axes: str = "-"
    legal: int = 0
    tried: int = 0
    refused: Counter[str] = attrs.field(factory=Counter)
    faults: list[str] = attrs.field(factory=list)
    scripts: dict[str, str] = attrs.field(factory=dict)
    note: str = "the same"

    @property
    def verdict(self) -> str:
        """In a few words."""
        if self.faults:
            return "FAILS"
        if self.legal:
            return self.note if self.tried else "one rank alone"
        return "refused " + ", ".join(sorted(self.refused))


def try_spec(path: Path, seed: int, ranks: int, most: int, pool: Pool | None) -> Trial:
    """Check a spec on every mesh, emit it on some of the legal ones, and train it there.

    Args:
        ranks: of the largest mesh.
        most: meshes to train on, one rank apart.
        pool: None to train nothing.
    """
    trial = Trial()
    try:
        _try(trial, path, Random(seed), ranks, most, pool)  # noqa: S311  the same meshes every time
    except Exception:  # noqa: BLE001  a bug of specc, whatever it raises
        trial.faults.append(traceback.format_exc().rstrip())
    return trial


def _try(trial: Trial, path: Path, rng: Random, ranks: int, most: int, pool: Pool | None) -> None:
    text = path.read_text(encoding="utf-8")
    if format_text(text) != text:
        trial.faults.append("the format of its format is another one")
    spec = _situated(path)
    render(spec.findings())
    if spec.checked.failed:
        trial.refused[_code(spec.checked.diagnostics)] += 1
        return
    found = list(meshes(spec.checked, ranks))
    trial.axes = "*".join(found[0].sizes)
    trial.refused.update(_code(each.spec.diagnostics) for each in found if each.spec.failed)
    legal = [each for each in found if not each.spec.failed]
    trial.legal = len(legal)
    if not legal or legal[0].spec.facts().mesh.world != 1:
        return
    chosen = [legal[0], *_some(rng, legal[1:], most)]
    for each in chosen:
        _emit(trial, each, f"{path.stem}_{len(trial.scripts)}")
    if pool is not None:
        _compare(trial, chosen, pool)


def _situated(path: Path) -> Spec:
    """The spec on the mesh that it says, in a world that fits; where none does, on one rank."""
    for world in (1, 2, 4, 8):
        spec = read(path, Wishes(target="cpu", world=world))
        if not spec.checked.failed:
            return spec
    ones = tuple(f"mesh.{axis}=1" for axis in _axes(path))
    return read(path, Wishes(target="cpu", overrides=ones, world=1))


def _axes(path: Path) -> list[str]:
    """Names of all axes, sub-axes too."""
    program = read(path, Wishes(target="cpu")).program
    found: list[str] = []
    waiting = list(program.mesh.axes) if program is not None and program.mesh is not None else []
    while waiting:
        axis = waiting.pop(0)
        found.append(axis.name)
        waiting += axis.axes
    return found


def _code(diagnostics: tuple[Diagnostic, ...]) -> str:
    return next(each.code for each in diagnostics if each.severity == "error")


def _some(rng: Random, legal: list[Candidate], most: int) -> list[Candidate]:
    """Some meshes, larger worlds more often; the smallest first."""
    keyed = [(rng.random() ** (1 / each.spec.facts().mesh.world ** 0.5), each) for each in legal]
    best = sorted(keyed, key=lambda pair: pair[0], reverse=True)[:most]
    return sorted((each for _, each in best), key=lambda each: each.spec.facts().mesh.world)


def _emit(trial: Trial, mesh: Candidate, name: str) -> None:
    """The script of a mesh, which Python reads."""
    code = script(print_text(mesh.spec.facts()))
    trial.scripts[name] = code
    try:
        compile(code, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        trial.faults.append(f"{mesh}: the script is no Python: {error}")


def _compare(trial: Trial, chosen: list[Candidate], pool: Pool) -> None:
    """Train on each mesh as on the first, which is one rank."""
    reference: Training | None = None
    for mesh in chosen:
        try:
            found = _trained(mesh, pool)
        except JobFailed as failure:
            trial.faults.append(f"{mesh}: {failure}")
            if reference is None:
                return
            continue
        trial.tried += reference is not None
        reference = reference or found[0]
        if not all(isfinite(number) for record in reference.records for number in record):
            trial.note = "overflows"
            return
        planned = collectives(exact(mesh.spec.facts()))
        verdict = judge(found, reference, planned, mesh.sizes)
        wrong = faults(verdict, found[0], reference)
        trial.faults += [f"{mesh}: {fault}" for fault in wrong[:SHOWN]]
        if len(wrong) > SHOWN:
            trial.faults.append(f"{mesh}: and {len(wrong) - SHOWN} more")


def _trained(mesh: Candidate, pool: Pool) -> list[Training]:
    """The training of every rank.

    Raises:
        JobFailed: one of them could not.
    """
    facts = exact(mesh.spec.facts())
    return pool.run(
        "specc.runtime.observed:observe",
        *(run_text(print_text(facts)), facts.program.name, STEPS, dict(mesh.sizes)),
        world=facts.mesh.world,
        timeout_s=TIMEOUT_S,
    )
