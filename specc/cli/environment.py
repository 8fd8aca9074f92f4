"""What the process was started with: the only place where the environment is read."""

from __future__ import annotations

import os
from collections.abc import Mapping

import attrs

from specc.diagnostics import SpeccError


@attrs.frozen
class Environment:
    """The variables of this process, and what they say of its world.

    Args:
        rank, world: of a process that torchrun, or specc itself, has started; None for any other.
    """

    variables: Mapping[str, str] = attrs.field(repr=False)
    rank: int | None = None
    world: int | None = None

    @property
    def speaks(self) -> bool:
        """Whether this process talks to people: it is alone, or the first rank."""
        return not self.rank


def read_environment() -> Environment:
    """The environment of this process.

    Raises:
        SpeccError: RANK or WORLD_SIZE is no number, or one of them is missing.
    """
    variables = dict(os.environ)
    if "RANK" not in variables and "WORLD_SIZE" not in variables:
        return Environment(variables)
    rank, world = (_number(variables, name) for name in ("RANK", "WORLD_SIZE"))
    return Environment(variables, rank, world)


def _number(variables: Mapping[str, str], name: str) -> int:
    text = variables.get(name, "")
    if text.isdecimal():
        return int(text)
    found = f"is `{text}`" if name in variables else "is missing"
    raise SpeccError(
        f"{name} {found}: torchrun sets RANK and WORLD_SIZE to numbers; set both or none"
    )
