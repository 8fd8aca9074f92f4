"""The verbs of the command line; the module of a verb is imported when it is called."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

from specc.cli.environment import Environment

VERBS = {
    "check": "all that is wrong with specs",
    "fmt": "format specs in place",
    "build": "build and shard the model once; print what one rank holds, or any stage before",
    "run": "train",
    "verify": "train on every mesh of a few ranks, and compare",
    "emit": "print the standalone training script",
    "explain": "what a code means; where a value comes from",
    "init": "write a commented spec to start from",
    "graph": "draw the model",
    "doctor": "what this machine lacks for training",
}
"""What each verb does, for the list of `specc --help`."""


class Verb(Protocol):
    """The module of a verb: its docstring is its help."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say what may follow the verb."""
        ...

    def run(self, args: argparse.Namespace, environment: Environment) -> int:
        """Do it; the exit code."""
        ...


def verb(name: str) -> Verb:
    """The module of a verb."""
    return cast("Verb", import_module(f"specc.cli.{name}"))
