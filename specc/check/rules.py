"""Which rule holds for a property of a part: the one with the strictly smaller selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.expressions import show
from specc.check.selectors import spelled
from specc.vocabulary.record import Constructor, SettingValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specc.diagnostics import Report
    from specc.source import Span

MOST_SHOWN = 3


@attrs.frozen(eq=False)
class Claim:
    """One rule's value for one property.

    Args:
        elements: what it covers, inherited parts included: paths of parts, or names of parameters.
    """

    elements: frozenset[str]
    value: SettingValue
    span: Span


def same(left: SettingValue, right: SettingValue) -> bool:
    """Whether two values are one; constructors by name and settings."""
    if isinstance(left, Constructor) and isinstance(right, Constructor):
        return (
            left.name == right.name
            and left.settings.keys() == right.settings.keys()
            and all(same(left.settings[key], right.settings[key]) for key in left.settings)
        )
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def decide(property_name: str, claims: Sequence[Claim], report: Report) -> Mapping[str, Claim]:
    """The claim that holds for each element; claims that disagree are reported, a pair once."""
    narrower = [
        frozenset(j for j, other in enumerate(claims) if other.elements < claim.elements)
        for claim in claims
    ]
    covering: dict[str, list[int]] = {}
    for index, claim in enumerate(claims):
        for element in claim.elements:
            covering.setdefault(element, []).append(index)
    held: dict[str, Claim] = {}
    clashes: dict[tuple[int, int], list[str]] = {}
    for element, indices in covering.items():
        narrowest = [index for index in indices if not narrower[index].intersection(indices)]
        first = claims[narrowest[0]]
        held[element] = first
        for index in narrowest[1:]:
            if not same(first.value, claims[index].value):
                clashes.setdefault((narrowest[0], index), []).append(element)
                break
    for (first, second), both in clashes.items():
        _report_clash(property_name, claims[first], claims[second], sorted(both), report)
    return held


def _report_clash(
    property_name: str, first: Claim, second: Claim, both: list[str], report: Report
) -> None:
    count = f"{len(both)} part{'s' if len(both) > 1 else ''}"
    report.error(
        "E0407",
        second.span,
        f"two rules set `{property_name}` differently for {count}",
        f"{show(second.value)} here",
        also=[(first.span, f"{show(first.value)} here")],
        notes=[
            f"both select: {listed(spelled(path) for path in both)}",
            "neither selects a strict subset of the other, so neither wins",
        ],
        helps=["narrow one of them with `in` or `except`"],
    )


def listed(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    names = list(names)
    shown = ", ".join(names[:MOST_SHOWN])
    more = len(names) - MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
