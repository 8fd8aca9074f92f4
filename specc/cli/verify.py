"""Trains a spec on every legal mesh of a few ranks on this machine's CPU, and compares.

Every mesh must start with the same weights, send what the plan says, and train as one rank does:
in fp32 and uncompiled, where only the order of sums may differ. Exit code 4 if one does not.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from specc.check.ambient import Wishes
from specc.check.meshes import Candidate, frozen_settings, meshes
from specc.cli.channels import give, tell
from specc.cli.environment import Environment
from specc.cli.flags import add_file, add_findings, add_situation, count
from specc.cli.opening import open_spec
from specc.cli.starting import refuse_crowd, with_ranks
from specc.diagnostics import SpeccError
from specc.emit.link import run_text
from specc.plan.collectives import collectives
from specc.plan.exact import exact
from specc.printing.text import print_text
from specc.targets import TARGETS

if TYPE_CHECKING:
    from specc.runtime.verdict import Verdict

RANKS = 4
STEPS = 3
LEAST_STEPS = 2  # the second one is that whose collectives are counted
TIMEOUT_S = 600  # of one mesh
HEADER = "ranks  gradients  loss     norm     collectives  verdict"
SHOWN = 6  # faults of one mesh


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """File, how many ranks, how many steps."""
    add_file(parser)
    parser.add_argument(
        "--ranks", metavar="N", type=count, default=RANKS, help=f"at most so many ({RANKS})"
    )
    parser.add_argument(
        "--steps", metavar="N", type=count, default=STEPS, help=f"on each mesh ({STEPS})"
    )
    add_situation(parser)
    add_findings(parser)


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0 when all legal meshes train alike; 4 when one does not."""
    _check_flags(args, environment)
    wishes = Wishes("cpu", args.profile, args.layout, tuple(args.overrides))
    spec = with_ranks(open_spec(args, environment, "verify", wishes), trains=False)
    facts = spec.facts()
    if not facts.mesh.axes:
        raise SpeccError("the spec has no mesh: say one, such as `mesh { dp = world }`", 2)
    if facts.training.steps < LEAST_STEPS:
        raise SpeccError(f"the spec trains one step: add `--set train.steps={args.steps}`", 2)
    candidates = list(meshes(spec, args.ranks))
    legal = [each for each in candidates if not each.spec.failed]
    if not legal or legal[0].spec.facts().mesh.world != 1:
        raise SpeccError(_no_reference(candidates[0]), 1)
    refuse_crowd(legal[-1].spec.facts())
    own = " x ".join(f"{axis.name}={axis.size.value}" for axis in facts.mesh.axes)
    held = ", ".join(frozen_settings(spec))
    tell(
        f"{spec.path}: {len(legal)} meshes of up to {args.ranks} ranks, {args.steps} steps in fp32"
        + (f"; {held}, as on {own}" if held else "")
    )
    faulty = _compare(candidates, args.steps)
    if faulty:
        give(f"{faulty} of {len(legal)} meshes train something else\n", None)
        return 4
    give(f"{len(legal)} meshes train the same model\n", None)
    return 0


def _check_flags(args: argparse.Namespace, environment: Environment) -> None:
    if args.target not in (None, "cpu", "auto"):
        raise SpeccError(
            f"`verify` trains on this machine's CPU: leave `--target {args.target}` out", 2
        )
    if environment.rank is not None:
        raise SpeccError("`verify` starts its ranks itself: call it without torchrun", 2)
    if args.steps < LEAST_STEPS:
        raise SpeccError("`--steps` is 2 or more: the second step's collectives are counted", 2)


def _compare(candidates: list[Candidate], steps: int) -> int:
    """Train on each legal mesh and print its row; how many train otherwise than the first."""
    from specc.runtime.pool import JobFailed, Pool  # noqa: PLC0415  runtime is reached late
    from specc.runtime.verdict import judge  # noqa: PLC0415

    width = max(len(f"{each}") for each in candidates)
    give(f"{'mesh':<{width}}  {HEADER}\n", None)
    reference = None
    faulty = 0
    with Pool(TARGETS["cpu"].backend) as pool:
        for each in candidates:
            if each.spec.failed:
                give(f"{each!s:<{width}}  not legal: {_reason(each)}\n", None)
                continue
            facts = exact(each.spec.facts())
            name, text = facts.program.name, run_text(print_text(facts))
            try:
                found = pool.run(
                    "specc.runtime.observed:observe",
                    *(text, name, steps, each.sizes, f"{each.spec.path}"),
                    world=facts.mesh.world,
                    timeout_s=TIMEOUT_S,
                )
            except JobFailed as failure:
                raise SpeccError(f"{each}: {failure}", 4) from None
            reference = reference or found[0]
            verdict = judge(found, reference, collectives(facts), each.sizes)
            faulty += bool(verdict.faults)
            give(f"{each!s:<{width}}  {_row(verdict, facts.mesh.world)}\n", None)
    return faulty


def _row(verdict: Verdict, ranks: int) -> str:
    """A row of the table, and the faults below it."""
    errors = verdict.errors
    gradient, loss, norm = (
        f"{error:.1e}" if error else "0" for error in (errors.gradient, errors.loss, errors.norm)
    )
    word = "differs" if verdict.faults else "the same"
    row = f"{ranks:>5}  {gradient:<9}  {loss:<7}  {norm:<7}  {verdict.calls:<11}  {word}"
    shown = [f"\n    {fault}" for fault in verdict.faults[:SHOWN]]
    if len(verdict.faults) > SHOWN:
        shown.append(f"\n    and {len(verdict.faults) - SHOWN} more")
    return row + "".join(shown)


def _no_reference(one: Candidate) -> str:
    return f"one rank, which all meshes are compared with, is not legal: {_reason(one)}"


def _reason(candidate: Candidate) -> str:
    """The first error, in one line."""
    first = next(each for each in candidate.spec.diagnostics if each.severity == "error")
    return f"{first.code}: {first.title}"
