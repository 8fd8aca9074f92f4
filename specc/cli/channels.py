"""Where findings, remarks and products go: products to standard output, talk to standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from specc.cli.environment import Environment
from specc.diagnostics import Diagnostic, SpeccError
from specc.diagnostics.display import harmless
from specc.diagnostics.render import render, wants_color


def tell(text: str) -> None:
    """A remark for the person at the terminal."""
    sys.stderr.write(text + "\n")


def tell_error(text: str) -> None:
    """What stopped us, with the way out."""
    first, *more = text.split("\n")
    tell("\n".join(["error: " + harmless(first), *(harmless(line) for line in more)]))


def tell_findings(
    findings: Sequence[Diagnostic],
    args: argparse.Namespace,
    environment: Environment,
    stream: TextIO | None = None,
) -> None:
    """Findings in the form that was asked for; on standard error unless they are the product."""
    out: TextIO = stream or sys.stderr
    color = wants_color(args.color, is_terminal=out.isatty(), environ=environment.variables)
    out.write(render(findings, args.format, color=color))


def give(text: str, output: str | None) -> None:
    """The product: into a file, or to standard output.

    Raises:
        SpeccError: the file cannot be written.
    """
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    path = Path(output)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpeccError(f"cannot write {path}: {error.strerror}", exit_code=2) from None
