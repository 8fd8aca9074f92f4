"""A block while it is written: parts, and values whose shapes are known."""

from __future__ import annotations

from collections import Counter
from random import Random

import attrs

from tests.search.aims import Aim


@attrs.frozen
class Value:
    """An expression and its shape, entry by entry as a spec writes it."""

    text: str
    shape: tuple[str, ...]

    @property
    def last(self) -> str:
        return self.shape[-1]


class Body:
    """Parts and values of one block.

    Args:
        inputs: values that the block is given, by name.
    """

    def __init__(self, rng: Random, aim: Aim, inputs: tuple[Value, ...]) -> None:
        self.rng = rng
        self.aim = aim
        self.inputs = inputs
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.kept: list[str] = []  # names that `recompute` may keep
        self.kinds: set[str] = set()  # "Linear", "Linear.bias": what selectors can name
        self.statics: list[str] = []  # "window: int = none"
        self._numbers: Counter[str] = Counter()

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self, stem: str) -> str:
        """A new name."""
        self._numbers[stem] += 1
        return f"{stem}{self._numbers[stem]}"

    def part(self, stem: str, what: str, *kinds: str) -> str:
        """Declare a part; its name."""
        name = self.name(stem)
        self.parts.append(f"  {name}: {what}")
        self.kinds.update(kinds)
        return name

    def bind(self, expr: str, shape: tuple[str, ...], stem: str = "h") -> Value:
        """Give an expression a name, now and then with its shape written."""
        name = self.name(stem)
        written = self.rng.choice(("", "", "", "", f": {show(shape)}", f": fp32{show(shape)}"))
        self.lines.append(f"  {name}{written} = {expr}")
        self.kept.append(name)
        return Value(name, shape)

    def use(self, expr: str, shape: tuple[str, ...]) -> Value:
        """An expression as a value: bound to a name, or in parentheses where it is used."""
        return self.bind(expr, shape) if self.chance(0.6) else Value(f"({expr})", shape)

    def apply(self, part: str, value: Value, last: str) -> Value:
        """A part on a value, in either notation."""
        expr = f"{value.text} -> {part}" if self.chance(0.25) else f"{part}({bare(value.text)})"
        return self.use(expr, (*value.shape[:-1], last))

    # ---------------------------------------------------------------------------- parts

    def linear(self, value: Value, last: str, stem: str = "w") -> Value:
        """A matrix product, with or without a bias."""
        return self.apply(self.matrix(value.last, last, stem), value, last)

    def matrix(self, first: str, last: str, stem: str = "w") -> str:
        """Name of a Linear."""
        has_bias = self.chance(0.5)
        kinds = ("Linear", "Linear.bias") if has_bias else ("Linear",)
        return self.part(stem, linear(first, last, has_bias), *kinds)

    def norm(self, value: Value) -> Value:
        """One of the norms over the last dim."""
        d = value.last
        kind, settings, kinds = self.rng.choice(
            (
                ("RMSNorm", "", ("RMSNorm",)),
                ("RMSNorm", ", eps = 1e-5", ("RMSNorm",)),
                ("RMSNorm", ", offset = 1", ("RMSNorm",)),
                ("LayerNorm", "", ("LayerNorm", "LayerNorm.bias")),
                ("LayerNorm", ", bias = false", ("LayerNorm",)),
                ("LayerNorm", ", affine = false", ()),
            )
        )
        return self.apply(self.part("norm", f"{kind}({d}{settings})", *kinds), value, d)

    def dropout(self, value: Value) -> Value:
        """Some elements are dropped, by a part or by the function."""
        p = self.rng.choice(("0.1", "0.2", "0.5"))
        if self.chance(0.02):
            return self.use(f"dropout({bare(value.text)}, {p})", value.shape)
        return self.apply(self.part("drop", f"Dropout({p})"), value, value.last)

    def tensor(self, *shape: str) -> Value:
        """A tensor of the block's own, trained or not."""
        kind = self.rng.choice(("Param", "Param", "Buffer"))
        draws = ("ones", "constant(0.5)", "normal(std = 0.2)", "uniform(0.5)")
        what = f"{kind}({show(shape)}, init = {self.rng.choice(draws)})"
        return Value(self.part("t", what, *([kind] if kind == "Param" else ())), shape)

    # ----------------------------------------------------------------------------- text

    def text(self, name: str, result: Value, *, residual: bool) -> str:
        """The block that gives this value, added to its input or not."""
        statics = f"[{', '.join(self.statics)}]" if self.statics else ""
        inputs = ", ".join(f"{value.text}: {show(value.shape)}" for value in self.inputs)
        lines = [*self.parts, "", *self.lines] if self.parts else self.lines
        x = self.inputs[0]
        given = result.text if residual else bare(result.text)
        if residual and self.chance(0.3):
            lines = [*lines, f"  {x.text} = {x.text} + {given}"]
            given = x.text
        elif residual:
            given = f"{x.text} + {given}" if self.chance(0.7) else f"{given} + {x.text}"
        head = f"block {name}{statics}({inputs}) -> {show(result.shape)} {{"
        return "\n".join([head, *lines, f"  return {given}", "}"])


def show(shape: tuple[str, ...]) -> str:
    """A shape as a spec writes it."""
    return f"[{', '.join(shape)}]"


def linear(first: str, last: str, has_bias: bool) -> str:
    """A Linear as a part."""
    return f"Linear({first} -> {last}{'' if has_bias else ', bias = false'})"


def bare(text: str) -> str:
    """An expression without the parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[1:-1] if index == len(text) - 1 else text
    return text
