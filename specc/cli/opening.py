"""Opens the spec that a verb works on, and says what is wrong with it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from specc.check.ambient import Wishes
from specc.check.checked import Checked, check_file
from specc.cli.channels import tell_findings
from specc.cli.environment import Environment
from specc.cli.refusal import Faulty
from specc.diagnostics import SpeccError
from specc.syntax import tree
from specc.syntax.parse import parse
from specc.syntax.read import read_source

SILENT_S = 5
"""A silent rank waits before it ends: the agent then ends all others, and the first must speak."""


def find_file(name: str | None, verb: str, folder: Path = Path()) -> Path:
    """The spec that is meant: the one named, else the only run in the folder.

    Raises:
        SpeccError: the folder has no run, or several.
    """
    if name is not None:
        return Path(name)
    runs = [path for path in sorted(folder.glob("*.spec")) if is_run(path)]
    if len(runs) == 1:
        return runs[0]
    if runs:
        listed = "".join(f"\n  specc {verb} {path}" for path in runs)
        raise SpeccError(f"this folder has {len(runs)} specs that train; say which:{listed}", 2)
    below = sorted(folder.glob("specs/*.spec")) + sorted(folder.glob("specs/*/*.spec"))
    near = [path for path in below if is_run(path)]
    if near:
        listed = "".join(f"\n  specc {verb} {path}" for path in near[:8])
        raise SpeccError(f"this folder has no spec that trains; below it are:{listed}", 2)
    raise SpeccError(
        f"this folder has no spec that trains (with `model` and `train`): name a file, "
        f"`specc {verb} FILE`, or write one with `specc init`",
        2,
    )


def is_run(path: Path) -> bool:
    """Whether a file says a whole training."""
    try:
        source = read_source(path)
    except OSError:
        return False
    if isinstance(source, tuple):
        return False
    file, _ = parse(source)
    kinds = file.declarations
    has_model = any(isinstance(each, tree.Block) and each.is_model for each in kinds)
    return has_model and any(isinstance(each, tree.Train) for each in kinds)


def open_spec(
    args: argparse.Namespace, environment: Environment, verb: str, wishes: Wishes
) -> Checked:
    """The spec without errors; warnings, and errors, are told on standard error.

    Raises:
        Faulty: it has errors, or warnings that count as such.
        SpeccError: it cannot be read.
    """
    spec = check_file(find_file(args.file, verb), wishes, present)
    usable(spec, args, environment)
    return spec


def present() -> str:
    """Name of the device family of this machine."""
    from specc.runtime.detect import detect  # noqa: PLC0415  runtime is reached late

    return detect({}).name


def usable(spec: Checked, args: argparse.Namespace, environment: Environment) -> None:
    """Tell the findings, and go on only if none of them forbids it.

    Raises:
        Faulty: one of them does.
    """
    if environment.speaks:
        tell_findings(spec.diagnostics, args, environment)
    if spec.failed or (args.deny and spec.diagnostics):
        if not environment.speaks:
            time.sleep(SILENT_S)
        raise Faulty
