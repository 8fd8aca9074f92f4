"""Checks specs through the command line, as people and editors do: `specc check --format json`."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specc.cli import main


def run_cli(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `specc ARGUMENTS`, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(arguments))
        except SystemExit as stop:  # argparse leaves this way
            code = stop.code if isinstance(stop.code, int) else 0
    return code, out.getvalue(), err.getvalue()


def check(
    files: Sequence[tuple[str, str]], flags: Sequence[str], folder: Path
) -> list[dict[str, Any]]:
    """The findings of the first file, as JSON values; the other files lie beside it.

    Raises:
        AssertionError: if `specc check` did neither succeed nor find something.
    """
    for name, text in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        code, out, err = run_cli(["check", files[0][0], "--format", "json", *flags])
    finally:
        os.chdir(before)
    assert code in (0, 1), f"exit code {code}\n{err}"
    return [json.loads(line) for line in out.splitlines()]
