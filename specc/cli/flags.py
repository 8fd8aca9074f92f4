"""Flags that several verbs share."""

from __future__ import annotations

import argparse

from specc.check.ambient import Wishes


def add_file(parser: argparse.ArgumentParser) -> None:
    """`FILE`, which may be left out where the folder has one run."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="the spec; may be left out beside the only run"
    )


def add_situation(parser: argparse.ArgumentParser) -> None:
    """Target, profile, layout and overrides."""
    group = parser.add_argument_group("what holds")
    group.add_argument("--target", metavar="NAME", help="device family, or `auto`")
    group.add_argument("--profile", metavar="NAME", help="a `profile` of the spec")
    group.add_argument("--layout", metavar="NAME", help="a named `layout` of the spec")
    group.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        dest="overrides",
        help="replace a value, such as `train.steps=10`; may be repeated",
    )


def add_world(parser: argparse.ArgumentParser) -> None:
    """`--world`, for verbs that start nothing."""
    parser.add_argument(
        "--world",
        "--ranks",
        metavar="N",
        type=count,
        help="number of ranks; by default what the spec says",
    )


def add_findings(parser: argparse.ArgumentParser) -> None:
    """How findings are shown, and which of them count."""
    group = parser.add_argument_group("findings")
    group.add_argument("--format", choices=("text", "json", "github"), default="text")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    group.add_argument("--deny", choices=("warnings",), help="stop at warnings, too")


def count(text: str) -> int:
    """A whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"`{text}` is no number of ranks")


def wishes(args: argparse.Namespace, world: int | None) -> Wishes:
    """What the arguments ask for."""
    return Wishes(args.target, args.profile, args.layout, tuple(args.overrides), world)
