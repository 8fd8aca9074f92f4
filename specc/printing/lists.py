"""Text of a list of parts: a comprehension where elements follow a rule, else written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.texts import size_text
from specc.program import model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.plan.facts import Module
    from specc.printing.classes import Classes


def list_text(
    classes: Classes,
    module: Module,
    what: model.PartList,
    texts: Mapping[str, str],
    kind: model.ValueType | None,
    groups: dict[str, tuple[str, ...]],
) -> str:
    """`nn.ModuleList(Block() for _ in range(DEPTH))` and its relatives."""
    items = [classes.construct(c, c.what, texts, kind, groups) for c in module.children]
    if not items:
        return "nn.ModuleList()"
    count = _count_text(classes, what, len(items))
    if len(set(items)) == 1:
        if len(items) == 1:
            return f"nn.ModuleList([{items[0]}])"
        return f"nn.ModuleList({items[0]} for _ in range({count}))"
    periodic = _periodic(items, count)
    if periodic is not None:
        return periodic
    indexed = _indexed(items, count)
    if indexed is not None:
        return indexed
    return f"nn.ModuleList([{', '.join(_runs(items))}])"


def _count_text(classes: Classes, what: model.PartList, number: int) -> str:
    if what.count is None:
        return str(number)
    return size_text(what.count, classes.context.look_up({}))


def _periodic(items: list[str], count: str) -> str | None:
    """A pattern of at most four elements that returns."""
    for period in range(2, 5):
        pattern = items[:period]
        if len(items) > period and all(item == pattern[i % period] for i, item in enumerate(items)):
            prefix, suffix, middles = _common(pattern)
            if prefix.endswith(("(", "=", ", ")) and not any("(" in m for m in middles):
                item = f"{prefix}({', '.join(middles)})[i % {period}]{suffix}"
                return f"nn.ModuleList({item} for i in range({count}))"
            return None
    return None


def _common(pattern: list[str]) -> tuple[str, str, list[str]]:
    """What all texts begin and end with, up to the bounds of an argument, and what lies between."""
    first, last = min(pattern), max(pattern)
    begin = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    begin = (
        max(first.rfind("(", 0, begin), first.rfind("=", 0, begin), first.rfind(" ", 0, begin)) + 1
    )
    tails = [item[begin:] for item in pattern]
    ends = [min((t.find(c) for c in ",)" if c in t), default=len(t)) for t in tails]
    middles = [t[:e] for t, e in zip(tails, ends, strict=True)]
    rests = {t[e:] for t, e in zip(tails, ends, strict=True)}
    return (first[:begin], rests.pop(), middles) if len(rests) == 1 else ("", "", [])


def _indexed(items: list[str], count: str) -> str | None:
    """An argument that counts from 0 with the element."""
    prefix, suffix, middles = _common(items)
    if prefix and middles == [str(i) for i in range(len(items))]:
        return f"nn.ModuleList({prefix}i{suffix} for i in range({count}))"
    return None


def _runs(items: list[str]) -> list[str]:
    runs: list[tuple[str, int]] = []
    for item in items:
        if runs and runs[-1][0] == item:
            runs[-1] = (item, runs[-1][1] + 1)
        else:
            runs.append((item, 1))
    return [item if n == 1 else f"*({item} for _ in range({n}))" for item, n in runs]
