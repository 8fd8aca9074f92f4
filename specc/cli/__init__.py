"""The command line: verbs, flags, channels and exit codes."""

from specc.cli.entry import main

__all__ = ["main"]
