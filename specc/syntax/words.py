"""The words that begin declarations and statements, and where each of them may stand."""

from __future__ import annotations

from typing import Literal

import attrs

Kind = Literal["file", "block", "extern", "layout", "train", "settings", "axes"]
"""What kind of statements stand in a place."""


@attrs.frozen
class Place:
    """What stands between one pair of braces, or in a file.

    Args:
        frame: what stands before the statements, so that the grammar reads them as such.
        words: that begin a statement here.
        expected: how a message calls a statement here.
        has_commas: whether a comma may part two statements on one line.
        inner: the kind of what stands in the braces of a statement here.
    """

    frame: str
    words: tuple[str, ...]
    expected: str
    has_commas: bool = False
    inner: Kind | None = None


DECLARATIONS: dict[str, Kind | None] = {
    "specc": None,
    "from": None,
    "dim": None,
    "let": None,
    "check": None,
    "block": "block",
    "model": "block",
    "extern": "extern",
    "cluster": "settings",
    "mesh": "axes",
    "layout": "layout",
    "train": "train",
    "launch": "settings",
    "on": "settings",
    "profile": "settings",
}
"""What a declaration begins with, and the kind of what stands in its braces."""

VERBS = {
    "precision": "layout",
    "recompute": "layout",
    "compile": "layout",
    "offload": "layout",
    "init": "train",
    "optimize": "train",
}
"""What a rule without an axis begins with, and the block it belongs into."""

_LAYOUT_VERBS = tuple(verb for verb, home in VERBS.items() if home == "layout")
_TRAIN_VERBS = tuple(verb for verb, home in VERBS.items() if home == "train")

PLACES: dict[Kind, Place] = {
    "file": Place("", tuple(DECLARATIONS), "a declaration"),
    "block": Place("block B() -> [] {", ("return", "tie", "check"), "a statement"),
    "extern": Place(
        'extern "" block B() -> [] {', ("init", "param", "split", "sum"), "a statement"
    ),
    "layout": Place("layout {", (*_LAYOUT_VERBS, "check"), "a rule", inner="settings"),
    "train": Place("train {", _TRAIN_VERBS, "a setting", has_commas=True, inner="settings"),
    "settings": Place("launch {", (), "a setting", has_commas=True, inner="settings"),
    "axes": Place("mesh {", (), "an axis", has_commas=True, inner="axes"),
}

ELSEWHERE = {
    "return": "into a `block` or `model`",
    "tie": "into a `block` or `model`",
    "param": "into an `extern` block",
    "split": "into an `extern` block",
    "sum": "into an `extern` block",
    "shard": "into `layout`, behind an axis",
    "stage": "into `layout`, behind an axis",
    "replicate": "into `layout`, behind an axis",
    **{verb: f"into `{home}`" for verb, home in VERBS.items()},
    **dict.fromkeys(DECLARATIONS, "at the top of a file"),
}
"""Where a word belongs that begins a statement, for messages about one in another place."""


def kind_inside(kind: Kind, first_word: str) -> Kind | None:
    """The kind of what stands in the braces of a statement; None where it has no braces."""
    return DECLARATIONS.get(first_word) if kind == "file" else PLACES[kind].inner
