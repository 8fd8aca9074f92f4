"""Writes a commented spec to start from; an existing file stays as it is.

Kinds: ddp, a small network whose batch is split; fsdp, a language model on text, its parameters
sharded; longctx, a long sequence split over ranks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from specc.cli.channels import tell
from specc.cli.environment import Environment
from specc.diagnostics import SpeccError
from specc.resources import template_text

KINDS = ("ddp", "fsdp", "longctx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Kind, file."""
    parser.add_argument("kind", nargs="?", choices=KINDS, default="fsdp", help="default: fsdp")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: KIND.spec")


def run(args: argparse.Namespace, _environment: Environment) -> int:
    """0; 2 if the file exists."""
    path = Path(args.output or f"{args.kind}.spec")
    text = template_text(f"init/{args.kind}.spec")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        way = f"`specc init {args.kind} -o OTHER.spec`"
        raise SpeccError(f"{path} exists and stays as it is: {way}", exit_code=2) from None
    except OSError as error:
        raise SpeccError(f"cannot write {path}: {error.strerror}", exit_code=2) from None
    tell(f"wrote {path}: try `specc check {path}`, then `specc run {path} --profile small`")
    return 0
