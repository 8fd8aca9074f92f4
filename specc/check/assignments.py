"""Settings as a file, a level or the command line writes them: a path and a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.source import Span


@attrs.frozen
class Choice:
    """One value as written.

    Args:
        level: `file`, `on musa`, `profile smoke` or `--set`.
    """

    value: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)
    level: str = "file"


@attrs.frozen
class Assignment:
    """One line of a level: the paths that it sets and the type it may write."""

    paths: tuple[tuple[str, ...], ...]
    type: tree.Type | None
    value: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)
    level: str = "file"


def flatten(attrs_: Iterable[tree.Attr], prefix: tuple[str, ...], level: str) -> list[Assignment]:
    """The settings of a block, nested ones under their whole path."""
    found: list[Assignment] = []
    for attr in attrs_:
        if isinstance(attr, tree.Nested):
            found.extend(flatten(attr.attrs, (*prefix, *attr.path), level))
        else:
            paths = tuple((*prefix, *path) for path in attr.paths)
            found.append(Assignment(paths, attr.type, attr.value, attr.span, level))
    return found
