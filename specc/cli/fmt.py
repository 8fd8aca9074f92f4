"""Sets the white space of specs in the one format that they have; nothing else changes.

`-` reads standard input and writes standard output.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

from specc.cli.channels import tell, tell_findings
from specc.cli.environment import Environment
from specc.cli.opening import find_file
from specc.cli.refusal import FOUND, Faulty
from specc.diagnostics import SpeccError
from specc.diagnostics.fix import write
from specc.source import Source
from specc.syntax.format import format_text
from specc.syntax.read import decode_source, read_source

STDIN = "<stdin>"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, and what to do with the result."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="specs, or `-`")
    parser.add_argument("--check", action="store_true", help="write nothing; say what would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; show what would change")
    parser.add_argument("--format", choices=("text", "json", "github"), default="text")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def run(args: argparse.Namespace, environment: Environment) -> int:
    """0; with --check or --diff, 1 if a file would change."""
    names = args.files or [str(find_file(None, "fmt"))]
    sources = [_read(name, args, environment) for name in names]
    changed = [(source, new) for source, new in map(_formatted, sources) if new != source.text]
    if args.diff:
        for source, new in changed:
            sys.stdout.writelines(_difference(source, new))
    if args.check or args.diff:
        for source, _ in changed:
            tell(f"would format {source.name}")
        return FOUND if changed else 0
    if "-" in names:
        sys.stdout.write(_formatted(sources[names.index("-")])[1])
    files = [(source, new) for source, new in changed if source.name != STDIN]
    write(files)
    for source, _ in files:
        tell(f"formatted {source.name}")
    return 0


def _read(name: str, args: argparse.Namespace, environment: Environment) -> Source:
    try:
        found = decode_source(_stdin(), STDIN) if name == "-" else read_source(Path(name))
    except OSError as error:
        raise SpeccError(f"cannot read {name}: {error.strerror}", exit_code=2) from None
    if isinstance(found, tuple):
        tell_findings(found, args, environment)
        raise Faulty
    return found


def _stdin() -> bytes:
    stream = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read().encode() if stream is None else stream.read()


def _formatted(source: Source) -> tuple[Source, str]:
    return source, format_text(source.text)


def _difference(source: Source, new: str) -> Iterator[str]:
    """A unified diff; a last line without its end still ends here."""
    lines = difflib.unified_diff(
        source.text.splitlines(), new.splitlines(), source.name, source.name, lineterm=""
    )
    return (f"{line}\n" for line in lines)
