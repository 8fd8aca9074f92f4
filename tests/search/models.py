"""A random model: blocks in lists, what comes before and after them, its data and its losses."""

from __future__ import annotations

from random import Random

import attrs

from tests.search.aims import Aim
from tests.search.blocks import (
    Block,
    composite,
    draw_attention,
    draw_feed_forward,
    draw_mixer,
)
from tests.search.body import linear, show


@attrs.frozen
class Model:
    """The parts of a spec that say what is trained.

    Args:
        blocks: in the order of declaration, those that are used.
        text: of the model.
        data: lines of `train.data`.
        loss: the right side of `loss =`.
        paths: top-level parts that hold parameters.
        lists: names of the lists, each with the number of its elements.
        kinds: parts and tensors that a selector can name.
    """

    blocks: tuple[Block, ...]
    text: str
    data: tuple[str, ...]
    loss: str
    paths: tuple[str, ...]
    lists: dict[str, int]
    kinds: frozenset[str]

    def parts_inside(self) -> tuple[Block, ...]:
        """The blocks with parameters of their own, which may be units of storage."""
        return tuple(block for block in self.blocks if block.kinds)


class Writer:
    """A model while it is written."""

    def __init__(self, rng: Random, aim: Aim) -> None:
        self.rng = rng
        self.aim = aim
        self.blocks = _blocks(rng, aim)
        self.used: dict[str, Block] = {}
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.paths: list[str] = []
        self.lists: dict[str, int] = {}
        self.kinds: set[str] = set()
        self.fields: list[str] = []

    def part(self, name: str, what: str, *kinds: str) -> None:
        self.parts.append(f"  {name}: {what}")
        if kinds:
            self.paths.append(name)
        self.kinds.update(kinds)

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def call(self, block: Block) -> str:
        """One way to make a block, which is used from now on."""
        for name in block.uses:
            self.used.setdefault(name, next(b for b in self.blocks if b.name == name))
        self.used.setdefault(block.name, block)
        return self.rng.choice(block.calls)

    # --------------------------------------------------------------------------- lists

    def body(self, x: str) -> str:
        """The blocks on x: a list, or two, or one block by itself."""
        plain = [block for block in self.blocks if not block.is_crossed]
        crossed = [block for block in self.blocks if block.is_crossed]
        for name in ("blocks", "more")[: 1 + self.chance(0.25)]:
            what, count = self._list(plain)
            self.parts.append(f"  {name}: {what}")
            self.lists[name] = count
            self.paths.append(name)
            x = self.rng.choice((f"{name}({x})", f"({x} -> {name})"))
        if crossed:
            call = self.call(crossed[0])
            self.part("cross", call if self.chance(0.5) else f"repeat 2 {call}", "Linear")
            x = f"cross({x}, m)"
        return x

    def _list(self, blocks: list[Block]) -> tuple[str, int]:
        one = self.rng.choice(blocks)
        other = self.rng.choice(blocks)
        way = self.rng.randrange(6)
        if way == 0:
            count = self.rng.randint(2, 3)
            return f"repeat {count} [{self.call(one)}, {self.call(other)}]", count
        if way == 1 and one is not other:
            return f"repeat 1 ({self.call(one)} -> {self.call(other)})", 2
        if way == 2:
            return f"[{self.call(one)}, repeat 2 {self.call(other)}]", 3
        if way == 3 and any("window" in call for call in one.calls):
            self.call(one)
            return f"repeat 2 as i {one.name}(window = 2*i + 1)", 2
        count = self.rng.randint(1, 2)
        return f"repeat {count} {self.call(one)}", count

    # ---------------------------------------------------------------------------- model

    def write(self) -> Model:
        """The model for the kind of the aim."""
        inputs, results, returned = getattr(self, f"_{self.aim.kind}")()
        loss = self._loss(results)
        given = ", ".join(f"{name}: {kind}" for name, kind in inputs)
        made = ", ".join(f"{name}: {show(shape)}" for name, shape in results)
        head = f"model Net({given}) -> {made} {{"
        text = "\n".join([head, *self.parts, "", *self.lines, f"  return {returned}", "}"])
        for block in self.used.values():
            self.kinds |= block.kinds
        blocks = tuple(block for block in self.blocks if block.name in self.used)
        return Model(
            blocks,
            text,
            tuple(self.fields),
            loss,
            tuple(self.paths),
            self.lists,
            frozenset(self.kinds),
        )

    def _memory(self) -> list[tuple[str, str]]:
        if not any(block.is_crossed for block in self.blocks):
            return []
        self.fields.append("m = randn")
        return [("m", "[B, T, d]")]

    def _tokens(self) -> tuple[list[tuple[str, str]], list[tuple[str, tuple[str, ...]]], str]:
        self.fields += ["ids = randint(vocab)", "labels: i64[B, S] = randint(vocab)"]
        inputs = [("ids", "i64[B, S]"), *self._memory()]
        self.part("embed", "Embedding(vocab -> d)", "Embedding")
        x = "embed(ids)"
        if self.chance(0.2):
            x = f"{x}*sqrt(d)"
        if self.chance(0.35):
            self.part("wpe", "Embedding(ctx -> d)", "Embedding")
            x = f"{x} + wpe(positions(ids))"
        if self.chance(0.2):
            self.part("drop", "Dropout(0.1)")
            x = f"drop({x})"
        self.line(f"x = {x}")
        self.line(f"h = {self.body('x')}")
        if self.chance(0.7):
            kind = self.rng.choice(("RMSNorm", "LayerNorm"))
            self.part("norm", f"{kind}(d)", *((kind, f"{kind}.bias")[: 1 + (kind == "LayerNorm")]))
            self.line("h = norm(h)")
        is_tied = self.chance(0.3)
        has_bias = not is_tied and self.chance(0.4)
        kinds = ("Linear", "Linear.bias") if has_bias else ("Linear",)
        self.part("head", linear("d", "vocab", has_bias), *kinds)
        if is_tied:
            self.parts.append("  tie head.weight = embed.weight")
            self.paths.remove("head")
        self.line("y = head(h)")
        if self.chance(0.15):
            self.line("y = 5.0*tanh(y/5.0)")
        results = [("logits", ("B", "S", "vocab"))]
        if self.chance(0.15):
            return inputs, [("hidden", ("B", "S", "d")), *results], "h, y"
        return inputs, results, "y"

    def _floats(self) -> tuple[list[tuple[str, str]], list[tuple[str, tuple[str, ...]]], str]:
        self.fields.append("x = randn")
        inputs = [("x", "[B, S, d]"), *self._memory()]
        self.line(f"h = {self.body('x')}")
        if self.chance(0.4):
            self.fields.append("y: [B, S, d] = randn")
            return inputs, [("result", ("B", "S", "d"))], "h"
        if self.aim.context is None and self.chance(0.4):
            self.line("h = mean(h, over = S)")
            self.part("head", linear("d", "out", self.chance(0.5)), "Linear")
            self.fields.append("labels: i64[B] = randint(out)")
            return inputs, [("logits", ("B", "out"))], "head(h)"
        self.part("head", linear("d", "out", self.chance(0.5)), "Linear")
        self.fields.append("y: [B, S, out] = randn")
        return inputs, [("result", ("B", "S", "out"))], "head(h)"

    def _rows(self) -> tuple[list[tuple[str, str]], list[tuple[str, tuple[str, ...]]], str]:
        self.fields.append("x = randn")
        self.line(f"h = {self.body('x')}")
        self.part("head", linear("d", "out", self.chance(0.5)), "Linear")
        if self.chance(0.5):
            self.fields.append("y: [B, out] = randn")
            return [("x", "[B, d]")], [("result", ("B", "out"))], "head(h)"
        self.fields.append("labels: i64[B] = randint(out)")
        return [("x", "[B, d]")], [("logits", ("B", "out"))], "head(h)"

    # ----------------------------------------------------------------------------- loss

    def _loss(self, results: list[tuple[str, tuple[str, ...]]]) -> str:
        names = [name for name, _ in results]
        if "result" in names:
            loss = "mse(result, y)"
            return f"{loss} + 0.1*mean(result)" if self.chance(0.2) else loss
        settings = [
            each
            for each, share in (
                (f"ignore = {self.rng.randrange(3)}", 0.35),
                ("smooth = 0.1", 0.2),
                ("z = 0.01", 0.2),
                (f"chunk = {self.rng.choice((2, 3, 4, 8, 64))}", 0.25),
            )
            if self.chance(share) and not ("hidden" in names and "chunk" in each)
        ]
        loss = f"cross_entropy({', '.join(['logits', 'labels', *settings])})"
        return f"{loss} + 0.01*mean(hidden)" if "hidden" in names else loss


def _blocks(rng: Random, aim: Aim) -> tuple[Block, ...]:
    """Some blocks, those inside of others first; at least one has attention if the aim says so."""
    leaves: list[Block] = []
    if aim.has_attention:
        leaves.append(draw_attention(rng, aim, "Attention"))
        if rng.random() < 0.3:
            leaves.append(draw_attention(rng, aim, "Other"))
    if rng.random() < 0.7 or not leaves:
        leaves.append(draw_feed_forward(rng, aim, "Mlp"))
    if rng.random() < 0.6:
        leaves.append(draw_mixer(rng, aim, "Mixer"))
    crossed: tuple[Block, ...] = ()
    if aim.has_attention and rng.random() < 0.12:
        crossed = (draw_attention(rng, aim, "Cross", crossed=True),)
    if len(leaves) > 1 and rng.random() < 0.6:
        parts = tuple(rng.sample(leaves, 2))
        if aim.has_attention and not any(block.has_attention for block in parts):
            parts = (leaves[0], *parts)
        return (*leaves, composite(rng, aim, "Block", parts), *crossed)
    return (*leaves, *crossed)
