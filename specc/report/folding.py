"""Names of parameters with the elements of lists folded: `blocks.*.attn.wq.weight`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

import attrs

from specc.program.model import PartList

if TYPE_CHECKING:
    from specc.plan.facts import Module

T = TypeVar("T")


@attrs.frozen
class Fold:
    """Things that differ only by their place in lists.

    Args:
        pattern: their path with `*` for the index; the plain path of a single one.
        paths: of all of them.
    """

    pattern: str
    paths: tuple[str, ...]


def patterns(root: Module) -> dict[str, str]:
    """The folded path of every module, by its path."""
    found = {"": ""}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        is_list = isinstance(module.what, PartList) and len(module.children) > 1
        for child in module.children:
            above = found[module.path]
            word = "*" if is_list else child.name
            found[child.path] = f"{above}.{word}" if above else word
            waiting.append(child)
    return found


def folded(root: Module, paths: Iterable[str], key: Callable[[str], Hashable]) -> list[Fold]:
    """Paths of modules or parameters, in order; those with one pattern and one key are together."""
    known = patterns(root)
    groups: dict[tuple[str, Hashable], list[str]] = {}
    for path in paths:
        groups.setdefault((_pattern(path, known), key(path)), []).append(path)
    return [
        Fold(members[0] if len(members) == 1 else pattern, tuple(members))
        for (pattern, _), members in groups.items()
    ]


def _pattern(path: str, known: dict[str, str]) -> str:
    """Of a module, or of a parameter: its module's, then its own name."""
    words = path.split(".")
    for end in range(len(words), 0, -1):  # an extern has modules of its own below it
        above = known.get(".".join(words[:end]))
        if above is not None:
            return ".".join([above, *words[end:]])
    return path
