"""Selectors pick parts and parameters of the unfolded model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.check.specs import facts, findings, only, spec

BLOCKS = [f"blocks.{i}" for i in range(4)]


def picked_by(selector: str, **where: Any) -> list[str]:
    """Paths that `compile SELECTOR` picks."""
    found = facts(spec(f"dp: shard B\ncompile {selector}"), **where)
    return [module.path for module in found.model.walk() if module.compile is not None]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("each Block", BLOCKS),
        ("Block", BLOCKS),
        ("blocks[*]", BLOCKS),
        ("blocks[0..2]", BLOCKS[:2]),
        ("blocks[2..]", BLOCKS[2:]),
        ("blocks[-2..]", BLOCKS[2:]),
        ("blocks[-1]", BLOCKS[3:]),
        ("blocks[0, 3]", [BLOCKS[0], BLOCKS[3]]),
        ("blocks[0..1], blocks[3..4]", [BLOCKS[0], BLOCKS[3]]),
        ("each Block except blocks[-1]", BLOCKS[:3]),
        ("each Attention in blocks[1..3]", ["blocks.1.attn", "blocks.2.attn"]),
        ("blocks[*].attn", [f"{path}.attn" for path in BLOCKS]),
        ("each Block.mlp", [f"{path}.mlp" for path in BLOCKS]),
        ("each GELU in blocks[0]", ["blocks.0.mlp.1"]),
        ("blocks[0].mlp[2]", ["blocks.0.mlp.2"]),
        ("each RMSNorm except blocks", ["norm"]),
        ("embed", ["embed"]),
    ],
)
def test_a_selector_picks(selector: str, expected: list[str]) -> None:
    assert picked_by(selector) == expected


@pytest.mark.parametrize(
    ("selector", "code", "title", "label", "way_out"),
    [
        (
            "each Blok",
            "E0401",
            "`Blok` selects nothing in `Small`",
            "no part matches",
            "did you mean `Block`?",
        ),
        (
            "blcks[0]",
            "E0401",
            "`blcks` selects nothing in `Small`",
            "no part matches",
            "did you mean `blocks`?",
        ),
        (
            "each Block.atn",
            "E0401",
            "`Block.atn` selects nothing in `Small`",
            "no part or parameter `atn` there",
            "did you mean `attn`?",
        ),
        (
            "blocks[0..12]",
            "E0403",
            "`blocks[0..12]` runs past the end of `blocks` (4 parts)",
            "last index is 3",
            "",
        ),
        (
            "blocks[4]",
            "E0403",
            "`blocks[4]` runs past the end of `blocks` (4 parts)",
            "last index is 3",
            "",
        ),
        (
            "blocks[2..2]",
            "E0401",
            "`blocks[2..2]` selects nothing in `Small`",
            "no part matches",
            "",
        ),
        ("embed[0]", "E0401", "`embed` is one part, not a list", "nothing to index", ""),
        (
            "each Block in embed",
            "E0401",
            "`Block` selects nothing in `Small`",
            "no part matches",
            "",
        ),
        (
            "each Linear.weight",
            "E0401",
            "`recompute` acts on parts, and this selects parameters",
            "no part",
            None,
        ),
    ],
)
def test_a_selector_that_picks_nothing_is_an_error(
    selector: str, code: str, title: str, label: str, way_out: str | None
) -> None:
    finding = only(findings(spec(f"dp: shard B\nrecompute {selector}")), code)
    assert (finding.title, finding.labels[0].text) == (title, label)
    if way_out is not None:
        assert [h.text for h in finding.helps] == ([way_out] if way_out else [])


def test_a_selector_that_picks_nothing_lists_the_block_types() -> None:
    finding = only(findings(spec("dp: shard B\nrecompute each Blok")), "E0401")
    assert (
        finding.notes[0]
        == "block types here: Attention, Block, Embedding, GELU, Linear, RMSNorm, Small"
    )


def test_indices_may_be_names() -> None:
    text = spec("dp: shard B\nrecompute blocks[0..half]", more="let half = depth/2")
    picked = [m.path for m in facts(text).model.walk() if m.recompute]
    assert picked == BLOCKS[:2]
