"""The Situation: everything ambient, resolved once and passed down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from specc.source import Span
    from specc.syntax import tree


@attrs.frozen
class Override:
    """`--set mesh.dp=4`: a path and its value, parsed by the spec's own grammar."""

    path: tuple[str, ...]
    value: tree.Expr
    text: str
    span: Span = attrs.field(
        default=attrs.Factory(lambda self: self.value.span, takes_self=True), eq=False, repr=False
    )


@attrs.frozen
class Situation:
    """Target, profile, layout, overrides and world of one use of a spec.

    Args:
        target: name of a record of `targets/`.
        profile: None for the plain file.
        layout: None for the layout that the file or its overrides choose.
        world: number of ranks; None when nobody says (then `world` and `rest` take small values).
        why_target: how the target was chosen, for people: `--target`, `the cluster's device`, ..
    """

    target: str
    profile: str | None = None
    layout: str | None = None
    overrides: tuple[Override, ...] = ()
    world: int | None = None
    why_target: str = ""

    @property
    def label(self) -> str:
        """`on musa, profile smoke`: what differs from the plain file, for prefixes of findings."""
        words = [f"on {self.target}"]
        if self.profile:
            words.append(f"profile {self.profile}")
        if self.layout:
            words.append(f"layout {self.layout}")
        return ", ".join(words)
