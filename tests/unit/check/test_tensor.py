"""Parameters split by their dims: what is refused, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.check.specs import DIMS, facts, findings, net, only, spec

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
            "`Linear` with segments side by side, `heads*hd + kv*hd`, that `tp` splits",
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
            "a list, or a chain in a chain, whose elements are split inside is not built yet",
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


SEGMENTED = """\
  up: Linear(d -> ff + heads*hd)
  m:  Param([ff + heads*hd])
  a:  Linear(ff -> d)
  b:  Linear(heads*hd -> d)
  u, v = split(up(x)*m)
  return a(u) + b(v)"""
REORDERED = """\
  up:   Linear(d -> heads*2)
  m:    Param([2*heads])
  down: Linear(heads*2 -> d)
  h = (up(x) as [B, S, heads, 2]) as [B, S, 2, heads]
  k = (h as [B, S, 2*heads])*m
  return down((k as [B, S, 2, heads]) as [B, S, heads*2])"""
INTERLEAVED = """\
  hi:   Linear(d -> ff)
  lo:   Linear(ff -> d)
  up:   Linear(d -> 2*hd)
  m:    Param([2*S, hd])
  down: Linear(2*hd -> d)
  h = (up(x) as [B, S, 2, hd]) as [B, 2, S, hd]
  k = (h as [B, 2*S, hd])*m
  return down((k as [B, 2, S, hd]) as [B, S, 2*hd]) + lo(hi(x))"""


@pytest.mark.parametrize(
    ("body", "rule", "code"),
    [
        (SEGMENTED, "tp: shard ff, heads", "E0494"),
        (REORDERED, "tp: shard heads", "E0408"),
        (INTERLEAVED, "tp: shard ff else S", "E0410"),
    ],
)
def test_a_parameter_lies_as_the_values_that_meet_it(body: str, rule: str, code: str) -> None:
    """A rank would multiply its piece of a value with other elements of the parameter."""
    found = findings(net(body, rule))[0]
    assert (found.code, found.labels[0].span.text) == (code, "m")


def test_ids_of_several_tables_in_one_are_not_split() -> None:
    """Each rank would look for all ids in the whole table, and the sum would count them twice."""
    body = "  e: Embedding(ff + vocab -> d)\n  return x + e(ids)"
    text = net(body, "tp: shard ff, vocab", inputs="x: [B, S, d], ids: i64[B, S]")
    text = text.replace("x = randn,", "x = randn, ids = randint(32),")
    assert only(findings(text), "E0494").title.startswith("`Embedding` with segments side by side")


CHAIN = "  mlp: Linear(d -> ff, bias = false) -> GELU -> Linear(ff -> d, bias = false)"


@pytest.mark.parametrize("rule", ["recompute mlp", "compile mlp", "dp: shard params per mlp"])
@pytest.mark.parametrize(
    ("why", "split"),
    [
        ("ranks exchange values between its elements", "tp: shard ff"),
        (
            "its elements have different precisions",
            "tp: shard B\nprecision { params = bf16 }\nprecision mlp[2] { params = fp32 }",
        ),
    ],
)
def test_a_chain_that_is_called_apart_has_no_forward_to_act_on(
    rule: str, why: str, split: str
) -> None:
    found = findings(net(f"{CHAIN}\n  return x + mlp(x)", f"{split}\n{rule}"))
    (apart,) = [each for each in found if why in each.title]
    assert (apart.code, apart.labels[0].span.text) == ("E0494", rule.removeprefix("dp: "))


def test_a_chain_in_a_chain_is_a_block_where_ranks_exchange() -> None:
    body = "  mlp: GELU -> (Linear(d -> ff) -> Linear(ff -> d))\n  return mlp(x)"
    assert only(findings(net(body, "tp: shard ff")), "E0494").title.startswith("a list, or a chain")


def test_a_bias_is_gathered_where_it_is_added() -> None:
    """A part in a precision of its own is a unit, without a rule that says so."""
    rule = "tp: shard ff\nprecision { params = bf16 }\nprecision down { params = fp32 }"
    found = findings(net(FEED.format("silu(up(x))"), rule))
    (bias,) = [each for each in found if each.code == "E0494"]
    assert bias.notes == ("the unit is down, in fp32",)


def test_captured_graphs_with_exchanges_are_judged() -> None:
    rule = 'tp: shard ff\ncompile { mode = "reduce-overhead" }'
    found = findings(net(FEED.format("silu(up(x))"), rule), target="musa")
    assert "a captured graph must not communicate on musa" in {each.title for each in found}


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


HELD_OUT = Path(__file__).parents[2] / "cases" / "parity" / "held_out.spec"


@pytest.mark.parametrize(
    ("layout", "second", "label", "way_out"),
    [
        (None, "mean(logits)", "vocab", "leave `vocab` out of the rule"),
        ("sp", "mean(hidden)", "vocab", "leave `else S` out of the rule"),
    ],
)
def test_terms_of_a_loss_lie_in_one_way(
    layout: str | None, second: str, label: str, way_out: str
) -> None:
    text = HELD_OUT.read_text(encoding="utf-8").replace(", ignore = 32)", f") + {second}")
    found = only(findings(text, layout=layout), "E0494")
    assert found.title == "a loss some terms of which `tp` splits is not built yet"
    assert [each.span.text for each in found.labels] == [second, label]
    assert [each.text for each in found.helps] == [way_out]


def test_a_parameter_that_enters_split_parameters_is_summed() -> None:
    """Each rank uses all of it for its piece of the result."""
    body = """
  p:    Param([S, d])
  up:   Linear(d -> ff)
  down: Linear(ff -> d)
  return x + down(up(p))"""
    assert "p" in facts(net(body, "tp: shard ff")).summed


def test_axes_that_split_twice_are_said_in_the_order_of_the_mesh() -> None:
    text = net(
        FEED.format("silu(up(x))"), "a*b*c: shard ff\na*b*c: shard S", "dp = 1, a = 1, b = 1, c = 2"
    )
    found = [each for each in findings(text) if each.code == "E0409"]
    assert [each.title[:3] for each in found] == ["`a`", "`b`", "`c`"]
