"""From the arguments to an exit code: finds the verb, and says whatever stops it."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import cast

from specc import __version__
from specc.cli.channels import tell_error
from specc.cli.environment import read_environment
from specc.cli.refusal import FOUND, Faulty
from specc.cli.verbs import VERBS, verb
from specc.diagnostics import SpeccError, nearest

USAGE, STOPPED, BUG = 2, 4, 70


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: what follows `specc`; the process's own arguments by default.

    Returns:
        0 clean, 1 found something, 2 usage, 3 the machine lacks something, 4 the run failed or was
        stopped, 70 a bug of specc.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except Faulty:
        return FOUND
    except SpeccError as error:
        tell_error(str(error))
        return error.exit_code
    except BrokenPipeError:  # as in `specc emit FILE | head`
        _close_output()
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("stopped by Ctrl-C\n")
        return STOPPED
    except Exception:  # noqa: BLE001  whatever is left is our fault, and must be told as such
        sys.stderr.write(
            f"{traceback.format_exc()}internal error, please report: specc {__version__}\n"
        )
        return BUG
    return code


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in VERBS:
        return _without_verb(arguments)
    name = arguments[0]
    module = verb(name)
    parser = argparse.ArgumentParser(
        prog=f"specc {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    try:
        args = parser.parse_args(arguments[1:])
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else USAGE
    _write_utf8()
    return module.run(args, read_environment())


def _without_verb(arguments: list[str]) -> int:
    """`--help`, `--version`, and what is no verb."""
    first = arguments[0] if arguments else ""
    if first in {"-h", "--help", "help"}:
        sys.stdout.write(_help())
        return 0
    if first in {"-V", "--version"}:
        sys.stdout.write(f"specc {__version__}\n")
        return 0
    if not first:
        sys.stderr.write(_help())
        return USAGE
    near = nearest(first, VERBS)
    hint = f"did you mean `specc {near}`?" if near else f"verbs: {', '.join(VERBS)}"
    raise SpeccError(f"there is no verb `{first}`; {hint}", exit_code=USAGE)


def _help() -> str:
    lines = [f"specc {__version__}: a small language that says a distributed training once", ""]
    lines += ["usage: specc VERB [FILE] [flags]", ""]
    lines += [f"  {name:8}  {what}" for name, what in VERBS.items()]
    lines += ["", "`specc VERB --help` lists the flags of a verb."]
    return "\n".join(lines) + "\n"


def _write_utf8() -> None:
    """Scripts and specs are UTF-8 whatever the terminal's locale is."""
    stream: object = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        cast("io.TextIOWrapper", stream).reconfigure(encoding="utf-8")


def _close_output() -> None:
    """Keep Python from complaining, at its end, of what it cannot write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
