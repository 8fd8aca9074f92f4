"""Draws the model: its blocks as a tree, or the flow of values with their shapes on the way."""

from __future__ import annotations

import argparse

from specc.check.ambient import Wishes
from specc.cli.channels import give
from specc.cli.environment import Environment
from specc.cli.flags import add_file
from specc.cli.opening import open_spec
from specc.diagnostics import SpeccError
from specc.report.graph import dot_text, mermaid_text, tree_text

FORMS = {"text": tree_text, "mermaid": mermaid_text, "dot": dot_text}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """File, form."""
    add_file(parser)
    parser.add_argument(
        "--format", choices=tuple(FORMS), default="text", dest="form", help="of the drawing"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write there")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--deny", choices=("warnings",), help="stop at warnings, too")


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0; 2 for a spec without a model."""
    args.format = "text"  # of findings
    spec = open_spec(args, environment, "graph", Wishes())
    if spec.program is None or spec.program.model is None:
        raise SpeccError(f"{spec.path} has no `model` to draw", exit_code=2)
    give(FORMS[args.form](spec.program), args.output)
    return 0
