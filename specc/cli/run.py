"""Trains a spec: in the world that torchrun has started, else in ranks on this machine.

--emit prints the training instead: as a script, or as a job file of Slurm.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

from specc.api import Spec
from specc.check.checked import Checked
from specc.cli.channels import give, tell
from specc.cli.emit import script_name, tell_target
from specc.cli.environment import Environment
from specc.cli.flags import add_file, add_findings, add_situation, add_world, wishes
from specc.cli.opening import open_spec, usable
from specc.cli.starting import launch_lines, machine_variables, refuse_crowd, start, with_ranks
from specc.diagnostics import SpeccError
from specc.emit.slurm import slurm_job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """File, what to write, what to print instead."""
    add_file(parser)
    parser.add_argument("--metrics", metavar="FILE", help="append one line of JSON a step")
    parser.add_argument("--plot", metavar="FILE", help="draw the loss as PNG when all is done")
    parser.add_argument(
        "--resume",
        metavar="WHICH",
        nargs="?",
        const="latest",
        help="go on from a checkpoint: `latest`, `step_500`, or a folder",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the launch lines of every node"
    )
    parser.add_argument("--emit", choices=("script", "slurm"), help="print, and do not train")
    parser.add_argument("-o", "--output", metavar="FILE", help="where --emit writes")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="say only what stops the training"
    )
    add_world(parser)
    add_situation(parser)
    add_findings(parser)


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0 when the training is done; 3 or 4 if something stopped it."""
    _check_flags(args)
    if args.resume and args.file is None and args.resume.endswith(".spec"):
        args.file, args.resume = args.resume, "latest"  # `run --resume FILE`
    asked = wishes(args, args.world or environment.world)
    spec = open_spec(args, environment, "run", asked)
    facts = spec.facts()
    if args.resume and facts.training.save_every is None:
        raise SpeccError("there is nothing to resume: the spec has no `save { .. }` in `train`", 2)
    if args.emit:
        return _emit(spec, args)
    if environment.rank is not None:
        return _rank(spec, args, environment)
    enlarged = with_ranks(spec, trains=not args.dry_run)
    if enlarged is not spec:
        usable(enlarged, args, environment)
    if args.dry_run:
        give(launch_lines("run", args, enlarged.facts()), None)
        return 0
    return _alone(enlarged, args, environment)


def _check_flags(args: argparse.Namespace) -> None:
    """Refuse combinations, and what is missing, before anything starts."""
    if args.output and not args.emit:
        raise SpeccError("`-o` belongs to `--emit`: say `--emit script -o FILE`", exit_code=2)
    if args.emit and (args.metrics or args.plot or args.dry_run):
        raise SpeccError("`--emit` trains nothing: leave the other flags out", exit_code=2)
    if args.plot and importlib.util.find_spec("matplotlib") is None:
        raise SpeccError('`--plot` needs matplotlib: pip install "specc[plot]"')


def _emit(spec: Checked, args: argparse.Namespace) -> int:
    tell_target(spec)
    name = script_name(spec)
    give(
        slurm_job(spec.facts(), name) if args.emit == "slurm" else Spec(spec).script(), args.output
    )
    return 0


def _alone(spec: Checked, args: argparse.Namespace, environment: Environment) -> int:
    """Train in ranks of this machine, and draw the losses."""
    facts = spec.facts()
    refuse_crowd(facts)
    if not args.quiet:
        tell_target(spec)
    with tempfile.TemporaryDirectory(prefix="specc_") as folder:
        metrics = _metrics(args, Path(folder))
        env = {**machine_variables(facts, environment), **_variables(metrics, args)}
        is_one = facts.mesh.world == 1  # needs neither agent nor process group
        code = _train(spec, env) if is_one else start("run", args, facts, env)
        if code == 0 and args.plot and metrics is not None:
            _plot(metrics, Path(args.plot))
    return code


def _rank(spec: Checked, args: argparse.Namespace, environment: Environment) -> int:
    """Train as one rank of a world that others have started."""
    if environment.speaks and not args.quiet:
        tell_target(spec)
    with tempfile.TemporaryDirectory(prefix="specc_") as folder:
        metrics = _metrics(args, Path(folder))
        code = _train(spec, _variables(metrics, args))
        if code == 0 and args.plot and metrics is not None and environment.speaks:
            _plot(metrics, Path(args.plot))
    return code


def _train(spec: Checked, env: dict[str, str]) -> int:
    from specc.runtime.beside import modules_beside  # noqa: PLC0415  runtime is reached late
    from specc.runtime.execute import train_text  # noqa: PLC0415

    sys.stdout.flush()
    with modules_beside(str(spec.path)):
        return train_text(Spec(spec).text(), spec.facts().program.name, env=env)


def _metrics(args: argparse.Namespace, folder: Path) -> Path | None:
    """Where the records go: the file asked for, or one for the plot alone."""
    if args.metrics:
        return Path(args.metrics).absolute()
    return folder / "metrics.jsonl" if args.plot else None


def _variables(metrics: Path | None, args: argparse.Namespace) -> dict[str, str]:
    """What the text reads."""
    found = {"METRICS": str(metrics)} if metrics is not None else {}
    return {**found, "RESUME": args.resume} if args.resume else found


def _plot(metrics: Path, image: Path) -> None:
    from specc.runtime.plot import plot_metrics  # noqa: PLC0415  matplotlib is optional

    plot_metrics(metrics, image)
    tell(f"loss curve: {image}")
