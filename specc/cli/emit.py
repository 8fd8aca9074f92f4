"""Prints the standalone training script of a spec; it needs only Python and torch.

--check FILE.py says whether a script is what the spec gives today. --launcher slurm prints an
sbatch file for the script instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from specc.api import Spec
from specc.check.checked import Checked
from specc.cli.channels import give, tell
from specc.cli.environment import Environment
from specc.cli.flags import add_file, add_findings, add_situation, add_world, wishes
from specc.cli.opening import open_spec
from specc.cli.refusal import FOUND
from specc.diagnostics import SpeccError
from specc.emit.slurm import slurm_job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """File, output, what to print."""
    add_file(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write there, not to standard output"
    )
    parser.add_argument(
        "--check", metavar="FILE.py", help="compare a script with what would be printed"
    )
    parser.add_argument("--launcher", choices=("slurm",), help="print a job file for the script")
    add_situation(parser)
    add_world(parser)
    add_findings(parser)


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0; with --check, 1 if the script is stale."""
    asked = wishes(args, args.world or environment.world)
    spec = open_spec(args, environment, "emit", asked)
    tell_target(spec)
    if args.launcher:
        give(slurm_job(spec.facts(), script_name(spec)), args.output)
        return 0
    if args.check:
        return _check(spec, Path(args.check))
    give(Spec(spec).script(), args.output)
    return 0


def script_name(spec: Checked) -> str:
    """What the script of a spec is called."""
    return f"{spec.path.stem}.py"


def tell_target(spec: Checked) -> None:
    """One line that says what the product is for, and why."""
    situation = spec.facts().situation
    chosen = situation.why_target
    why = "as asked" if chosen.startswith("--") else chosen
    tell(f"target {situation.target}: {why}")


def _check(spec: Checked, script: Path) -> int:
    try:
        there = script.read_text(encoding="utf-8")
    except OSError as error:
        raise SpeccError(f"cannot read {script}: {error.strerror}", exit_code=2) from None
    except UnicodeDecodeError:
        raise SpeccError(f"{script} is no script: it is not UTF-8", exit_code=2) from None
    wanted = Spec(spec).script()
    if there == wanted:
        tell(f"{script} is what {spec.path} gives")
        return 0
    lines = zip(there.splitlines(), wanted.splitlines(), strict=False)
    first = next((n for n, (old, new) in enumerate(lines, 1) if old != new), None)
    where = f"from line {first} on" if first else "in its length"
    way = f"`specc emit {spec.path} -o {script}` writes it anew"
    tell(f"{script} is stale: it differs {where}; {way}")
    return FOUND
