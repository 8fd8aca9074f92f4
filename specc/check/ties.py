"""Ties between parameters, by their state-dict names in the unfolded model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.check.selectors import Tree
    from specc.source import Span


@attrs.frozen
class Tied:
    """Parameters that are one tensor.

    Args:
        to: for each parameter without storage of its own, the name of the one that has it.
        spans: the `tie` line of each such parameter.
    """

    to: Mapping[str, str]
    spans: Mapping[str, Span] = attrs.field(eq=False, repr=False)


def find_ties(model: Tree) -> Tied:
    """All ties of the model; chains of ties end at the one parameter that is tied to none."""
    to: dict[str, str] = {}
    spans: dict[str, Span] = {}
    for path, node in model.parts.items():
        for tie in node.block.ties if node.block is not None else ():
            left, right = _name(path, tie.left), _name(path, tie.right)
            if left not in model.tensors or right not in model.tensors:
                _report_missing(tie.span, left if left not in model.tensors else right, model)
                continue
            to[left] = right
            spans[left] = tie.span
    return Tied({left: _end(right, to, left) for left, right in to.items()}, spans)


def _name(path: str, words: tuple[str, ...]) -> str:
    return ".".join((path, *words) if path else words)


def _end(name: str, to: Mapping[str, str], start: str) -> str:
    seen = {start}
    while name in to and name not in seen:
        seen.add(name)
        name = to[name]
    return name


def _report_missing(span: Span, name: str, model: Tree) -> None:
    """An element of a list that this situation makes too short."""
    title = f"nothing to tie: the model has no parameter `{name}` here"
    model.report.error("E0403", span, title, "past the end of a list")
