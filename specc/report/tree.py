"""The typed tree of a file as text: a line for each node, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import attrs

from specc.source import Span

if TYPE_CHECKING:
    from specc.syntax import tree


def tree_text(file: tree.File) -> str:
    """Every declaration with everything in it; ends in a line end."""
    lines = [f"File {file.source.name}"]
    for declaration in file.declarations:
        lines += _node("", declaration, 1)
    return "\n".join(lines) + "\n"


def _node(role: str, node: attrs.AttrsInstance, depth: int) -> Iterator[str]:
    """A node with its plain fields on one line, and its children below."""
    plain: list[str] = []
    children: list[tuple[str, attrs.AttrsInstance]] = []
    for field in attrs.fields(type(node)):
        value: object = getattr(node, field.name)
        inner = _nodes_in(value)
        children += [(field.name, each) for each in inner]
        if not inner and value not in (None, ()) and not _is_place(value):
            plain.append(f"{field.name}={_plain(value)}")
    span = cast("Span", getattr(node, "span"))  # noqa: B009  every node has one
    place = ":".join(map(str, span.source.position(span.start)))
    words = [f"{role}:" if role else "", type(node).__name__, *plain, f" {place}"]
    yield "  " * depth + " ".join(word for word in words if word)
    for name, child in children:
        yield from _node(name, child, depth + 1)


def _nodes_in(value: object) -> list[attrs.AttrsInstance]:
    """The nodes that a field holds: one, a tuple of them, or none."""
    items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    found = [item for item in items if not isinstance(item, Span) and attrs.has(type(item))]
    return cast("list[attrs.AttrsInstance]", found)


def _is_place(value: object) -> bool:
    items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return isinstance(items[0], Span)


def _plain(value: object) -> str:
    """Words and numbers; a path of words is joined by dots."""
    if not isinstance(value, tuple):
        return repr(value)
    items = cast("tuple[object, ...]", value)
    is_path = all(isinstance(item, str) for item in items)
    return ".".join(map(str, items)) if is_path else repr(items)
