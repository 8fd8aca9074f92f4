"""Says all that is wrong with specs, in every target, profile and layout that they name.

Findings go to standard error; as json or github, to standard output. Nothing of a spec is run
unless --externs is given.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from specc.check.checked import Checked, check_file
from specc.cli.channels import tell, tell_findings
from specc.cli.environment import Environment
from specc.cli.flags import add_findings, add_situation, add_world, wishes
from specc.cli.opening import find_file, present
from specc.cli.refusal import FOUND
from specc.diagnostics import Diagnostic
from specc.diagnostics.fix import fixed, write

MOST_ROUNDS = 10
"""A fix may uncover the next fault; more often than this, something goes in a circle."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, flags."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="specs; may be left out beside the only run"
    )
    parser.add_argument(
        "--fix", action="store_true", help="put right what is sure, then check again"
    )
    parser.add_argument(
        "--externs",
        action="store_true",
        help="import the externs and compare them with what is declared",
    )
    add_situation(parser)
    add_world(parser)
    add_findings(parser)


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0 without findings that count, else 1."""
    paths = [Path(name) for name in args.files] or [find_file(None, "check")]
    if args.fix:
        _fix(paths, args, environment)
    specs = [_read(path, args, environment) for path in paths]
    findings = _merged([_findings(spec, args) for spec in specs])
    is_product = args.format != "text"
    tell_findings(findings, args, environment, sys.stdout if is_product else None)
    if any(finding.severity == "error" for finding in findings) or (args.deny and findings):
        return FOUND
    if not is_product:
        word = "checked" if findings else "clean"
        tell("\n".join(_verdict(spec, word) for spec in specs))
    return 0


def _read(path: Path, args: argparse.Namespace, environment: Environment) -> Checked:
    return check_file(path, wishes(args, args.world or environment.world), present)


def _findings(spec: Checked, args: argparse.Namespace) -> tuple[Diagnostic, ...]:
    findings = spec.findings()
    if not args.externs or spec.program is None or spec.failed or not spec.program.externs:
        return findings
    from specc.runtime.externs import check_externs  # noqa: PLC0415  the door to torch

    facts = spec.facts() if spec.program.is_run else None
    return (*findings, *check_externs(spec.program, facts))


def _merged(lists: list[tuple[Diagnostic, ...]]) -> list[Diagnostic]:
    """The findings of all files; those of a file that several import count once."""
    found: dict[tuple[object, ...], Diagnostic] = {}
    for findings in lists:
        for finding in findings:
            found.setdefault((*finding.identity, finding.situation), finding)
    return list(found.values())


def _verdict(spec: Checked, word: str) -> str:
    """`longctx.spec: clean on musa, with 16 ranks`."""
    if spec.situation is None or not spec.program or not spec.program.is_run:
        return f"{spec.path}: {word} (a library: no model or no train)"
    ranks = " and ".join(str(world) for world in spec.worlds())
    unit = "rank" if ranks == "1" else "ranks"
    return f"{spec.path}: {word} on {spec.situation.target}, with {ranks} {unit}"


# ------------------------------------------------------------------------------------------- fix


def _fix(paths: list[Path], args: argparse.Namespace, environment: Environment) -> None:
    """Apply what is sure until nothing is left of it."""
    total = 0
    for _ in range(MOST_ROUNDS):
        specs = [_read(path, args, environment) for path in paths]
        result = fixed(_merged([_findings(spec, args) for spec in specs]))
        if not result.texts:
            break
        write(result.texts)
        total += len(result.applied)
    if total:
        tell(f"put {total} finding{'s' if total > 1 else ''} right")
