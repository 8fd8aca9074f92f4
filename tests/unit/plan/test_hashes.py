"""Which of the four hashes an edit of a spec changes."""

from __future__ import annotations

import pytest

from specc.plan.hashes import hashes
from tests.unit.check.specs import MODEL, TRAIN, facts, spec

TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")
LAYOUT = (
    "dp: shard B\ndp: shard params per Block\nprecision { params = bf16 }\nrecompute each Block"
)
BASE = spec(
    LAYOUT, train=TRAIN + "init embed { normal = 0.5 }\n", model=MODEL, more="let unused_rate = 1"
)
ALL = {"model", "layout", "numerics", "run"}

# (what changes, old text, new text, hashes that change)
EDITS = [
    ("a comment", "steps = 5", "steps = 5  # few", set()),
    ("white space", "loss = cross", "loss   =   cross", set()),
    ("the order of rules", LAYOUT, "\n".join(reversed(LAYOUT.split("\n"))), set()),
    ("the name of a dim", "ff", "wide", set()),
    ("the name of a block", "Attention", "Mixing", set()),
    (
        "the name of a value",
        "h = x + attn(norm(x))\n  return h + mlp(h)",
        "y = x + attn(norm(x))\n  return y + mlp(y)",
        set(),
    ),
    ("the form of a number", "steps = 5", "steps = 2 + 3", set()),
    ("1 for 1.0", "lr = 1e-3", "lr = 1/1000", set()),
    ("a default, said", "Linear(d -> ff)", "Linear(d -> ff, bias = true)", set()),
    (
        "a rule for each part alike",
        "recompute each Block",
        "recompute blocks[0..2], blocks[2..4]",
        set(),
    ),
    ("an unused let", "unused_rate = 1", "unused_rate = 2", set()),
    ("logging", "steps = 5", "steps = 5\n  log { every = 2 }", {"run"}),
    ("the number of steps", "steps = 5", "steps = 6", {"run"}),
    ("recomputation", "recompute each Block", "", {"run"}),
    ("compilation", "recompute each Block", "recompute each Block\ncompile head", {"run"}),
    ("units", "per Block", "per Block, head", {"run"}),
    ("determinism", "steps = 5", "steps = 5, deterministic = true", {"run"}),
    ("the seed", "steps = 5", "steps = 5, seed = 1", {"numerics", "run"}),
    ("clipping", "steps = 5", "steps = 5, clip = 1.0", {"numerics", "run"}),
    ("accumulation", "steps = 5", "steps = 5, accumulate = 2", {"numerics", "run"}),
    ("the schedule", "steps = 5", "steps = 5, schedule = cosine", {"numerics", "run"}),
    ("the learning rate", "lr = 1e-3", "lr = 2e-3", {"numerics", "run"}),
    ("the optimizer", "AdamW(lr", "SGD(lr", {"numerics", "run"}),
    (
        "the loss",
        "cross_entropy(logits, labels)",
        "cross_entropy(logits, labels, z = 1e-4)",
        {"numerics", "run"},
    ),
    ("a start", "normal = 0.5", "normal = 0.4", {"numerics", "run"}),
    ("precision", "params = bf16", "params = fp32", {"numerics", "run"}),
    ("matmul", "params = bf16", "params = bf16, matmul = tf32", {"numerics", "run"}),
    ("the batch", "B = 2*dp", "B = 4*dp", {"numerics", "run"}),
    ("the sequence", "S = 8", "S = 16", {"numerics", "run"}),
    ("a setting of a function", "causal = true", "causal = false", {"numerics", "run"}),
    (
        "theta",
        "heads, hd] -> rope(theta = 1e4)",
        "heads, hd] -> rope(theta = 1e5)",
        {"numerics", "run"},
    ),
    (
        "a setting of a part",
        "norm: RMSNorm(d)",
        "norm: RMSNorm(d, eps = 1e-4)",
        {"numerics", "run"},
    ),
    ("the dataflow", "return h + mlp(h)", "return h + mlp(x + h)", {"numerics", "run"}),
    ("a number in the dataflow", "return h + mlp(h)", "return h + mlp(h)*2", {"numerics", "run"}),
    ("data", "ids = randint(vocab)", "ids = randint(vocab - 1)", {"numerics", "run"}),
    (
        "a frozen part",
        "steps = 5",
        "steps = 5\n  optimize embed { frozen = true }",
        {"numerics", "run"},
    ),
    ("where parameters lie", "dp: shard params per Block", "", {"layout", "run"}),
    ("the mesh", "dp = 2", "dp = 2 { rep = 2, fsdp = 1 }", {"layout", "run"}),
    (
        "a second axis",
        "dp = 2 }\nlayout {\n",
        "dp = 2, cp = 2 }\nlayout {\ncp: shard S via ulysses(heads)\n",
        {"layout", "run"},
    ),
    ("a width", "ff = 4*d", "ff = 3*d", {"model", "numerics", "run"}),
    ("the name of a part", "head", "top", {"model", "numerics", "run"}),
    ("the depth", "depth = 4", "depth = 5", {"model", "numerics", "run"}),
    ("a tie", MODEL, TIED, {"model", "numerics", "run"}),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS]
)
def test_an_edit_changes_these_hashes(old: str, new: str, expected: set[str]) -> None:
    assert old in BASE
    before, after = hashes(facts(BASE)), hashes(facts(BASE.replace(old, new)))
    assert {name for name in ALL if getattr(before, name) != getattr(after, name)} == expected


def test_the_target_changes_the_run_only() -> None:
    before, after = hashes(facts(BASE)), hashes(facts(BASE, target="cuda"))
    assert {name for name in ALL if getattr(before, name) != getattr(after, name)} == {"run"}


def test_twelve_digits_are_shown() -> None:
    found = hashes(facts(BASE))
    assert found.run.startswith(found.short)
    assert len(found.short) == 12
