"""Builds and shards the model of a spec once, and prints what one rank holds.

Alone, it builds among fake ranks without memory, so that any spec builds on a laptop; under
torchrun, or with --ranks, it builds for real. --print shows a stage before, without torch.
"""

from __future__ import annotations

import argparse

from specc.api import Spec
from specc.check.checked import Checked
from specc.cli.channels import give
from specc.cli.environment import Environment
from specc.cli.flags import add_file, add_findings, add_situation, count, wishes
from specc.cli.opening import open_spec
from specc.cli.starting import machine_variables, refuse_crowd, start
from specc.diagnostics import SpeccError
from specc.plan.holding import HeldTensor
from specc.report.holding import holding_text
from specc.report.plan import plan_text
from specc.report.program import program_text
from specc.report.tree import tree_text

STAGES = ("tree", "program", "plan", "script")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """File, what to print, how many ranks."""
    add_file(parser)
    parser.add_argument("--print", choices=STAGES, dest="stage", help="print a stage; no torch")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there")
    parser.add_argument("--world", metavar="N", type=count, help="fake ranks to build among")
    parser.add_argument("--ranks", metavar="N", type=count, help="local processes to build in")
    parser.add_argument("-q", "--quiet", action="store_true", help=argparse.SUPPRESS)
    add_situation(parser)
    add_findings(parser)


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0 when it is built."""
    if args.world and args.ranks:
        raise SpeccError("`--world` builds among fake ranks, `--ranks` in real ones: choose", 2)
    asked = wishes(args, args.world or args.ranks or environment.world)
    spec = open_spec(args, environment, "build", asked)
    if args.stage:
        give(_stage(spec, args.stage), args.output)
        return 0
    facts = spec.facts()
    is_rank = environment.rank is not None
    if args.ranks and args.ranks > 1 and not is_rank:
        refuse_crowd(facts)
        return start("build", args, facts, machine_variables(facts, environment))
    is_real = is_rank or args.ranks is not None
    held = _built(spec) if is_real else _imagined(spec)
    if environment.speaks:
        give(holding_text(facts, held, is_real=is_real), args.output)
    return 0


def _stage(spec: Checked, stage: str) -> str:
    match stage:
        case "tree":
            assert spec.tree is not None
            return tree_text(spec.tree)
        case "program":
            assert spec.program is not None
            return program_text(spec.program)
        case "plan":
            return plan_text(spec.facts())
        case _:
            return Spec(spec).script()


def _built(spec: Checked) -> tuple[HeldTensor, ...]:
    """What this rank holds of the model built for real."""
    from specc.runtime import session  # noqa: PLC0415  the door to torch

    with Spec(spec).build() as built:
        return session.held(built.model)


def _imagined(spec: Checked) -> tuple[HeldTensor, ...]:
    """What the first of the fake ranks holds."""
    from specc.runtime import session  # noqa: PLC0415  the door to torch

    return session.held_without_devices(Spec(spec).text(), spec.facts())
