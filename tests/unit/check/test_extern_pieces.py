"""Externs where a rule splits parameters by their dims: what is exchanged, and what is refused."""

from __future__ import annotations

import pytest

from specc.plan.holding import holding
from specc.printing.text import print_text
from tests.unit.check.specs import facts, findings

FEED = """\
extern "own:Feed" block Feed[B, S, d, ff](x: [B, S, d]) -> [B, S, d] {
  init(d, ff, sizes = [2*ff, d])
  param up:    [ff, d]
  param down:  [d, ff]
  param scale: [d]
  split B
  sum ff
}
"""
MIXER = """\
extern "own:Mixer" block Mixer[B, S, heads, hd](x: [B, S, heads, hd]) -> [B, S, heads, hd] {
  init(heads)
  param own:   [heads, hd]
  param bias:  [hd]
  split B, S, heads
}
"""
POOL = """\
extern "own:pool" block Pool[B, S, heads, hd](x: [B, S, heads, hd]) -> [B, hd] {
  call = function
  split B
  sum heads
}
"""
LAST = """\
extern "own:last" block Last[B, S, d](x: [B, S, d]) -> [B, d] {
  call = function
  split B
  sum S
}
"""
MOVED = """\
extern "own:Moved" block Moved[B, S, d](x: [B, S, d]) -> [B, S, d] {
  param weight: [d, d]
  split B
}
"""
ONE = "\n  feed: Feed\n  return feed(x)"
HEADS = """
  into: Linear(d -> heads*hd)
  out:  Linear(heads*hd -> d)
  {}
  return out(h as [B, S, heads*hd])"""
MIXED = HEADS.format("mixer: Mixer\n  h = mixer(into(x) as [B, S, heads, hd])")
POOLS = HEADS.format("up: Linear(hd -> d)\n  h = into(x) as [B, S, heads, hd]\n  p = Pool(h)")
POOLED = HEADS.format("up: Linear(hd -> d)\n  h = into(x) as [B, S, heads, hd]") + " + up(Pool(h))"


def spec(externs: str, body: str, rule: str) -> str:
    return f"""\
specc 1
{externs}
dim B = 4, S = 8, d = 4, ff = 8, heads = 4, hd = 2
model M(x: [B, S, d]) -> y: [B, S, d] {{{body}
}}
mesh {{ dp = 1, tp = 2 }}
layout {{
  dp: shard B
  tp: shard {rule}
}}
train {{
  data {{ x = randn }}
  loss = mean(y)
  optimizer = SGD(lr = 0.1)
  steps = 2
}}
"""


@pytest.mark.parametrize(
    ("externs", "body", "rule", "line", "summed"),
    [
        (
            FEED,
            ONE,
            "ff",
            "x = enter(x, self.tp_group)  # t.spec:19\n        return sum_over(self.feed(x), ",
            ("feed.scale",),
        ),
        (
            FEED,
            ONE,
            "ff else S",
            "return scatter_sum(self.feed(x), 1, self.tp_group)",
            ("feed.scale",),
        ),
        (
            MIXER,
            MIXED,
            "heads",
            "h = self.mixer(self.into(x).unflatten(2, (HEADS_LOCAL, HD)))",
            ("mixer.bias",),
        ),
        (
            POOL,
            POOLED,
            "heads",
            "self.up(sum_over(pool(h), self.tp_group)).unsqueeze(1)",
            (),
        ),
        (
            MOVED + FEED,
            "\n  feed:  Feed\n  moved: Moved\n  return moved(x + feed(x))",
            "ff else S",
            "return piece(self.moved(gather(h, 1, self.tp_group)), 1, self.tp_group)",
            ("feed.scale", "moved.weight"),
        ),
        (
            LAST + FEED,
            "\n  feed: Feed\n  return x + Last(feed(x))",
            "ff else S",
            "return x + enter(sum_over(h, self.tp_group), self.tp_group).unsqueeze(1)",
            ("feed.scale",),
        ),
    ],
)
def test_what_ranks_exchange(
    externs: str, body: str, rule: str, line: str, summed: tuple[str, ...]
) -> None:
    text = spec(externs, body, rule)
    assert line in print_text(facts(text)).sections[0].code
    assert facts(text).summed == summed


def test_a_rank_makes_its_piece_and_the_weights_of_the_whole_are_drawn() -> None:
    made = facts(spec(FEED, ONE, "ff"))
    text = print_text(made)
    assert (
        "local_module(lambda: Feed(D, FF_LOCAL, sizes=(2 * FF_LOCAL, D)))" in text.sections[0].code
    )
    assert '"feed": lambda: Feed(D, FF, sizes=(2 * FF, D)),' in text.sections[1].code
    assert 'split_parameters(model, storage["tp"], SPLIT, OWN)' in text.sections[1].code
    held = {tensor.name: tensor.local_sizes for tensor in holding(made)}
    assert held == {"feed.up": (4, 4), "feed.down": (4, 4), "feed.scale": (4,)}


MINOR = FEED.replace("up:    [ff, d]", "up:    [2*ff, d]")
SEGMENTS = FEED.replace("up:    [ff, d]", "up:    [ff + ff, d]")
MIXED_SUM = FEED.replace("up:    [ff, d]", "up:    [ff + d, d]")
SQUARE = FEED.replace("up:    [ff, d]", "up:    [ff, ff]")
WHOLE = FEED.replace("  sum ff\n", "")
IN_HEADS = FEED.replace(
    "[B, S, d, ff](x: [B, S, d]) -> [B, S, d]", "[d, ff](x: [.., d]) -> [.., d]"
)
LEADING = HEADS.format("f: Feed(d = hd)\n  h = f(into(x) as [B, S, heads, hd])")


@pytest.mark.parametrize(
    ("externs", "body", "rule", "code", "says"),
    [
        (FEED.replace("2*ff", "ff + d"), ONE, "ff", "E0508", "`Feed` is made with `ff + d`, which"),
        (FEED.replace("2*ff", "ff*ff"), ONE, "ff", "E0508", "`Feed` is made with `ff*ff`, which"),
        (
            FEED.replace("2*ff", "min(ff, d)"),
            ONE,
            "ff",
            "E0508",
            "`Feed` is made with `min(ff, d)`",
        ),
        (
            FEED.replace("param scale: [d]", "buffer scale: [ff]"),
            ONE,
            "ff",
            "E0494",
            "`tp` splits the buffer `Feed.scale` [ff]",
        ),
        (MINOR, ONE, "ff", "E0408", "`tp` splits `ff`, which is not the major factor of `2*ff`"),
        (MIXED_SUM, ONE, "ff", "E0418", "`ff + d` is split in some of its segments only"),
        (SQUARE, ONE, "ff", "E0409", "`ff` and `ff` are both split over `tp`, and a weight"),
        (WHOLE, ONE, "ff", "E0410", "`Feed.up` needs `ff` whole, and `tp` splits it"),
        (
            FEED,
            ONE.replace("Feed\n", "Feed(ff = 2*ff)\n"),
            "ff",
            "E0410",
            "`ff` of `Feed` is `2*ff`",
        ),
        (FEED, ONE.replace("Feed\n", "repeat 2 Feed\n"), "ff", "E0494", "a list, or a chain in a"),
        (
            POOL.replace("-> [B, hd]", "-> [B, hd], [B, hd]"),
            POOLS.replace("p = ", "p, _ = ") + " + up(p)",
            "heads",
            "E0494",
            "exchanging several results of an extern between ranks",
        ),
        (
            POOL.replace("-> [B, hd]", "-> i64[B, hd]"),
            POOLS.replace("Linear(hd -> d)", "Embedding(ff -> d)") + " + mean(up(p), over = hd)",
            "heads",
            "E0494",
            "adding up i64 results of `Pool` over ranks",
        ),
        (
            IN_HEADS.replace("split B\n", ""),
            LEADING,
            "ff, heads",
            "E0409",
            "`ff` and `heads` are both split over `tp`, and `Feed` gives [B, S, heads, hd]",
        ),
        (
            MIXER.replace("split B, S, heads", "split B, S").replace(
                "  param own:   [heads, hd]\n", ""
            ),
            MIXED,
            "heads",
            "E0410",
            "`Mixer` needs `heads` whole, and `tp` splits it",
        ),
    ],
)
def test_what_cannot_be_taken_apart_is_refused(
    externs: str, body: str, rule: str, code: str, says: str
) -> None:
    found = findings(spec(externs, body, rule))[0]
    assert (found.code, found.title[: len(says)]) == (code, says)


def test_segments_are_stored_whole_and_used_in_pieces() -> None:
    made = facts(spec(SEGMENTS, ONE, "ff"))
    text = print_text(made)
    making = "lambda: Feed(D, FF_LOCAL, sizes=(2 * FF_LOCAL, D))"
    own = f'self.feed = local_module(\n            {making}, {{"up": (0, (FF, FF))}}, tp_group\n'
    assert own in text.sections[0].code
    assert made.summed == ("feed.up", "feed.scale")
    held = {tensor.name: tensor.local_sizes for tensor in holding(made)}
    assert held == {"feed.up": (16, 4), "feed.down": (4, 4), "feed.scale": (4,)}


def test_a_size_of_a_head_and_a_factor_are_those_of_the_whole() -> None:
    sizes = "init(heads, size = heads*hd/heads, of = d/heads, scale = 1/sqrt(heads))"
    externs = MIXER.replace("init(heads)", sizes)
    text = print_text(facts(spec(externs, MIXED, "heads"))).sections[0].code
    made = "Mixer(HEADS_LOCAL, size=HEADS * HD // HEADS, of=D // HEADS, scale=HEADS**-0.5)"
    assert f"lambda: {made}" in text


def test_a_chain_with_an_extern_is_called_element_by_element() -> None:
    body = "\n  feed: LayerNorm(d) -> Feed -> LayerNorm(d)\n  return feed(x)"
    text = print_text(facts(spec(FEED, body, "ff"))).sections[0].code
    assert "h = self.feed[1](enter(self.feed[0](x), self.tp_group))" in text
    assert "return self.feed[2](sum_over(h, self.tp_group))" in text
