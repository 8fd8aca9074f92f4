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
        form: an example of a statement here.
        inner: the kind of what stands in the braces of a statement here.
    """

    frame: str
    words: tuple[str, ...]
    expected: str
    form: str
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
    "file": Place("", tuple(DECLARATIONS), "a declaration", "dim d = 4096, hd = d/heads"),
    "block": Place(
        "block B() -> [] {",
        ("return", "tie", "check"),
        "a statement",
        "head: Linear(d -> vocab)` or `y = head(x)",
    ),
    "extern": Place(
        'extern "" block B() -> [] {',
        ("init", "param", "buffer", "split", "sum"),
        "a statement",
        "param weight: [d, d]` or `split B, S",
    ),
    "layout": Place(
        "layout {",
        (*_LAYOUT_VERBS, "check"),
        "a rule",
        "dp: shard B` or `compile each Block",
        inner="settings",
    ),
    "train": Place(
        "train {",
        _TRAIN_VERBS,
        "a setting",
        "steps = 100",
        has_commas=True,
        inner="settings",
    ),
    "settings": Place(
        "launch {", (), "a setting", "steps = 100", has_commas=True, inner="settings"
    ),
    "axes": Place("mesh {", (), "an axis", "dp = 4", has_commas=True, inner="axes"),
}

FORMS = {
    "specc": "specc 1",
    "from": 'from "lib/llama.spec" use Block',
    "let": "let base_lr = 3e-4",
    "check": 'check heads % kv == 0, "reason"',
    "block": "block MLP(x: [B, S, d]) -> [B, S, d] { .. }",
    "model": "model M(x: [B, S, d]) -> logits: [B, S, vocab] { .. }",
    "extern": 'extern "package.module:Class" block Name[d](x: [B, d]) -> [B, d] { .. }',
    "cluster": "cluster name { device = .., nodes = 2, gpus = 8 }",
    "mesh": "mesh { dp = world }",
    "layout": "layout { dp: shard B }",
    "train": "train { loss = .., optimizer = AdamW(lr = 1e-4), steps = 100 }",
    "launch": "launch torchrun { timeout = 10min }",
    "on": "on cpu { layout = baseline }",
    "profile": "profile smoke { depth = 2, train.steps = 5 }",
}
"""An example of each declaration, by the word it begins with."""

ELSEWHERE = {
    "return": "in a `block` or `model`",
    "tie": "in a `block` or `model`",
    "param": "in an `extern` block",
    "buffer": "in an `extern` block",
    "split": "in an `extern` block",
    "sum": "in an `extern` block",
    "shard": "in `layout`, behind an axis",
    "stage": "in `layout`, behind an axis",
    "replicate": "in `layout`, behind an axis",
    **{verb: f"in `{home}`" for verb, home in VERBS.items()},
    **dict.fromkeys(DECLARATIONS, "at the top of a file"),
}
"""Where a word belongs that begins a statement, for messages about one in another place."""


def kind_inside(kind: Kind, first_word: str) -> Kind | None:
    """The kind of what stands in the braces of a statement; None where it has no braces."""
    return DECLARATIONS.get(first_word) if kind == "file" else PLACES[kind].inner
