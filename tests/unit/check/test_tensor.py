"""Parameters split by their dims: what is refused, and why."""

from __future__ import annotations

import pytest

from tests.unit.check.specs import DIMS, facts, findings, only, spec

TRAIN = """\
  data { x = randn, t: [B, S, d] = randn }
  loss = mse(y, t)
  optimizer = AdamW(lr = 1e-3)
  steps = 5
"""
ATTENTION = """
  wq: Linear(d -> heads*hd)
  wk: Linear(d -> kv*hd)
  wo: Linear(heads*hd -> d)
  k = wk(x) as [B, S, kv, hd]
  return attention(wq(x) as [B, S, heads, hd], k, k) as [B, S, heads*hd] -> wo"""
FEED = """
  up:   Linear(d -> ff)
  down: Linear(ff -> d)
  return down({})"""


ULYSSES = "cp: shard S via ulysses(heads)"


def net(body: str, rule: str, mesh: str = "dp = 2, tp = 2", layout: str = "dp: shard B") -> str:
    """A model of one block from and to [B, S, d]."""
    model = f"model Net(x: [B, S, d]) -> y: [B, S, d] {{{body}\n}}\n"
    return spec(f"{layout}\n{rule}", mesh, train=TRAIN, model=model)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (
            net(FEED.replace("ff", "heads*hd + ff").format("up(x)"), "tp: shard heads"),
            "E0418",
            "`heads*hd + ff` is split in some of its segments only",
        ),
        (
            net(FEED.replace("ff", "heads*hd + kv*hd").format("up(x)"), "tp: shard heads, kv"),
            "E0494",
            "a Linear from segments side by side, `heads*hd + kv*hd`",
        ),
        (
            net(
                FEED.format("mid(up(x))") .replace("down:", "mid:  Linear(ff -> heads*hd)\n  down:")
                .replace("Linear(ff -> d)", "Linear(heads*hd -> d)"),
                "tp: shard heads, ff",
            ),
            "E0409",
            "`heads` and `ff` are both split over `tp`, and a weight [heads*hd, ff] has both",
        ),
        (
            net(ATTENTION, "tp: shard kv"),
            "E0410",
            "`tp` splits the key heads `kv` and not the heads `heads`",
        ),
        (
            net(FEED.format("silu(up(x))"), "tp: shard ff", layout="dp: shard B, params per down"),
            "E0494",
            "`down` as a unit is not built yet: its bias is added outside of it",
        ),
        (
            net(FEED.format("softmax(up(x), over = ff)"), "tp: shard ff"),
            "E0410",
            "`softmax` needs `ff` whole, and `tp` splits it",
        ),
        (
            net(FEED.format("n(up(x))").replace("down:", "n: RMSNorm(ff)\n  down:"),
                "tp: shard ff else S"),
            "E0410",
            "`RMSNorm` needs `ff` whole, and `tp` splits it",
        ),
        (
            net("\n  layers: repeat 2 (Linear(d -> ff) -> Linear(ff -> d))\n  return layers(x)",
                "tp: shard ff"),
            "E0494",
            "a list whose elements are split inside is not built yet",
        ),
        (
            net(
                FEED.replace("down:", "n: RMSNorm(d)\n  down:")
                .format("silu(up(n(x)))) + n(mean(x, over = S)"),
                "tp: shard ff else S",
            ),
            "E0494",
            "`n.weight` is used on values that `tp` splits and on values that it does not",
        ),
        (
            net(FEED.format("silu(up(x))"), "a: shard ff\nb: shard heads", "dp = 1, a = 2, b = 2"),
            "E0402",
            "no tensor has the dim `heads`",
        ),
        (
            net(ATTENTION, "tp: shard heads, kv", "dp = 1, tp = 4"),
            "E0406",
            "`kv` = 2 does not divide over tp = 4",
        ),
        (
            net(FEED.format("silu(up(x))"), "tp: shard ff else S", "dp = 1, tp = 16"),
            "E0406",
            "`S` = 8 does not divide over tp = 16",
        ),
        (
            net(ATTENTION, f"tp: shard heads, kv\n{ULYSSES}", "dp = 1, tp = 2, cp = 4"),
            "E0410",
            "Ulysses over `cp` = 4 needs `heads / tp` to divide: 2 / 4",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_split_is_refused(text: str, code: str, says: str) -> None:
    (found,) = [each for each in findings(text) if each.severity == "error"]
    assert (found.code, found.title[: len(says)]) == (code, says)


@pytest.mark.parametrize(
    ("rule", "code", "at"),
    [
        ("tp: shard B else S", "E0414", "S"),
        ("tp: shard heads, kv, ff, vocab else ff", "E0414", "ff"),
        ("tp: shard heads via ulysses(heads)", "E0402", "ulysses(heads)"),
        ("tp: shard ff within blocks", "E0494", "blocks"),
        ("tp: shard ff\ntp: replicate", "E0407", "replicate"),
        ("tp: shard ff, B", "E0409", "B"),
        ("tp: shard ff\ntp: shard params", "E0409", "shard params"),
        ("tp: shard ff else S\ntp: shard heads, kv else B", "E0407", "B"),
    ],
)
def test_a_rule_that_says_something_else_is_refused(rule: str, code: str, at: str) -> None:
    found = findings(spec(f"dp: shard B\n{rule}", "dp = 2, tp = 2"))
    assert (found[0].code, found[0].labels[0].span.text) == (code, at)


def test_a_minor_factor_of_a_weight_names_the_segments() -> None:
    body = "\n  up: Linear(d -> d)\n  qkv: Linear(d -> 3*heads*hd)\n  q = qkv(x)\n  return up(x)"
    found = only(findings(net(body, "tp: shard heads")), "E0408")
    assert found.helps[0].text == "write `heads*hd + heads*hd + heads*hd`"


def test_rules_over_the_same_axis_add_up() -> None:
    rules = "dp: shard B\ntp: shard heads, kv\ntp: shard ff, vocab else S"
    found = facts(spec(rules, "dp = 2, tp = 2", dims=DIMS)).layout.tensor
    assert found is not None
    assert (found.axes, found.dims, found.otherwise) == (
        ("tp",),
        ("heads", "kv", "ff", "vocab"),
        "S",
    )


def test_a_chunked_loss_does_not_gather_its_head_for_every_chunk() -> None:
    train = """\
  data { ids = randint(vocab), labels: i64[B, S] = randint(vocab) }
  loss = cross_entropy(logits, labels, chunk = 8)
  optimizer = AdamW(lr = 1e-3)
  steps = 5
"""
    found = only(findings(spec("dp: shard B, params per head", train=train)), "E0494")
    assert found.title.startswith("`head` as a unit is not built yet under a loss in chunks")
