"""Explains a code of a finding with examples; without one, lists all codes.

--values FILE [PATH] shows every name that can be set, its value, and where that comes from.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from specc.cli.channels import give
from specc.cli.environment import Environment
from specc.cli.flags import add_findings, add_situation, add_world, wishes
from specc.cli.opening import open_spec
from specc.diagnostics import SpeccError
from specc.diagnostics.explain import explain
from specc.diagnostics.page import codes, page
from specc.report.values import values_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A code; or a file and a path."""
    parser.add_argument("words", nargs="*", metavar="CODE", help="such as E0406")
    parser.add_argument(
        "--values", action="store_true", help="explain values: FILE [PATH] follow, not a code"
    )
    add_situation(parser)
    add_world(parser)
    add_findings(parser)


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0; 2 for a code or a path that does not exist."""
    if args.values:
        return _values(args, environment)
    if not args.words:
        give("".join(f"{code}  {page(code).title}\n" for code in codes()), None)
        return 0
    if len(args.words) > 1:
        raise SpeccError("explain one code at a time, or values with `--values FILE`", exit_code=2)
    give(explain(args.words[0]).rstrip() + "\n", None)
    return 0


def _values(args: argparse.Namespace, environment: Environment) -> int:
    words: list[str] = args.words
    if len(words) > 2:
        raise SpeccError("`--values` takes a file and one path", exit_code=2)
    is_file = bool(words) and (words[0].endswith(".spec") or Path(words[0]).is_file())
    args.file = words.pop(0) if is_file else None
    path = words.pop(0) if words else None
    if words:
        raise SpeccError(f"`{path}` is no file: write `--values FILE PATH`", exit_code=2)
    asked = wishes(args, args.world or environment.world)
    spec = open_spec(args, environment, "explain --values", asked)
    give(values_text(spec.facts(), path), None)
    return 0
