"""Looks at what a training needs on this machine, and says what to do about what is missing."""

from __future__ import annotations

import argparse

from specc.cli.channels import give
from specc.cli.environment import Environment
from specc.diagnostics import SpeccError, nearest
from specc.targets import TARGETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Target, form."""
    parser.add_argument(
        "--target", metavar="NAME", help="device family; the present one by default"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0, or 3 if something is missing."""
    from specc.runtime.doctor import examine  # noqa: PLC0415  runtime is reached late
    from specc.runtime.findings import as_json, as_text, exit_code  # noqa: PLC0415

    target = None if args.target == "auto" else args.target
    if target is not None and target not in TARGETS:
        near = nearest(target, TARGETS)
        hint = f"did you mean `{near}`?" if near else f"targets: {', '.join(TARGETS)}"
        raise SpeccError(f"unknown target `{target}`; {hint}", exit_code=2)
    findings = examine(target, environ=environment.variables)
    text = as_json(findings) if args.format == "json" else as_text(findings)
    give(text + "\n", None)
    return exit_code(findings)
