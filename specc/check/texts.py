"""Python text of constant expressions over named constants, spaced as ruff spaces it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.program.dims import Entry, Product
from specc.syntax import tree
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from specc.check.names import Evaluated

SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 6)


@attrs.frozen
class Text:
    """Python text and how tightly it binds; `simple` operands of `**` are hugged."""

    text: str
    level: int = ATOM
    simple: bool = False

    def inside(self, level: int) -> str:
        """The text as an operand of an operator of that level."""
        return self.text if self.level >= level else f"({self.text})"


def constant(name: str) -> str:
    """The Python constant of a dim or axis."""
    return name.upper()


def size_text(expr: tree.Expr, look_up: Callable[[str], str | Evaluated]) -> str:
    """Text of a size: `32 * DP`, `D // HEADS`.

    Args:
        look_up: a string is the text of a named constant; any other value is written out.
    """
    return _text(expr, look_up, division="//").text


def real_text(expr: tree.Expr, look_up: Callable[[str], str | Evaluated]) -> str:
    """Text of a number in a setting: `HD**-0.5`, `0.02 / (2 * DEPTH) ** 0.5`."""
    return _text(expr, look_up, division="/").text


def entry_text(entry: Entry) -> str:
    """Text of a shape entry's size: `3 * HEADS * HD`, `HEADS * (NOPE + RD)`."""
    terms = [_product_text(segment) for segment in entry]
    return " + ".join(terms)


def _product_text(segment: Product) -> str:
    if not segment:
        return "1"
    factors: list[str] = []
    for factor in segment:
        if isinstance(factor, tuple):
            inner = entry_text(factor)
            factors.append(f"({inner})" if len(factor) > 1 else inner)
        else:
            text = constant(factor) if isinstance(factor, str) else number_text(factor)
            factors.append(text)
    return " * ".join(factors)


def names_in(expr: tree.Expr) -> frozenset[str]:
    """Every plain name in an expression."""
    match expr:
        case tree.Name(name):
            return frozenset({name})
        case tree.Group(inner) | tree.Negate(inner):
            return names_in(inner)
        case tree.Binary(_, left, right) | tree.Pipe(left, right):
            return names_in(left) | names_in(right)
        case tree.Call(_, arguments):
            return frozenset[str]().union(*(names_in(a.value) for a in arguments))
        case tree.ListOf(items):
            return frozenset[str]().union(*(names_in(item) for item in items))
        case tree.Item(base) | tree.Attribute(base):
            return names_in(base)
        case _:
            return frozenset()


# ------------------------------------------------------------------------------------ pieces


def _text(expr: tree.Expr, look_up: Callable[[str], str | Evaluated], division: str) -> Text:
    match expr:
        case tree.Number(value):
            return Text(number_text(value), simple=True)
        case tree.Name(name):
            found = look_up(name)
            if isinstance(found, str):
                level = ATOM if found.isidentifier() else PRODUCT
                return Text(found, level, simple=found.isidentifier())
            assert isinstance(found, int | float)
            return Text(number_text(found), simple=True)
        case tree.Group(inner):
            return _text(inner, look_up, division)
        case tree.Negate(operand):
            inner = _text(operand, look_up, division)
            return Text(f"-{inner.inside(UNARY)}", UNARY, simple=inner.simple)
        case tree.Binary("/", tree.Number(value), tree.Call(tree.Name("sqrt"), (argument,))) if (
            value == 1 and division == "/"
        ):
            return _power(_text(argument.value, look_up, division), "-0.5")
        case tree.Binary(op, left, right):
            return _binary(
                op, _text(left, look_up, division), _text(right, look_up, division), division
            )
        case tree.Call(tree.Name(name), arguments):
            return _call(name, [_text(a.value, look_up, division) for a in arguments])
        case _:
            raise AssertionError(f"no text for {expr}")


def _binary(op: str, left: Text, right: Text, division: str) -> Text:
    level = SUM if op in "+-" else PRODUCT
    # a * (b * c) needs no parentheses; a - (b + c), a * (b // c) keep theirs
    is_plain = op in "+*" and not any(mark in right.text for mark in "-/%")
    tighter = level + (not is_plain)
    written = division if op == "/" else op
    return Text(f"{left.inside(level)} {written} {right.inside(tighter)}", level)


def _power(base: Text, exponent: str) -> Text:
    if base.simple:
        return Text(f"{base.inside(ATOM)}**{exponent}", POWER)
    return Text(f"{base.inside(ATOM)} ** {exponent}", POWER)


def _call(name: str, arguments: list[Text]) -> Text:
    first, second = arguments[0], arguments[-1]
    match name:
        case "sqrt":
            return _power(first, "0.5")
        case "ceil_div":
            return Text(f"-(-{first.inside(UNARY)} // {second.inside(UNARY)})", UNARY)
        case "round_up":
            ceiling = f"-(-{first.inside(UNARY)} // {second.inside(UNARY)})"
            return Text(f"{ceiling} * {second.inside(UNARY)}", PRODUCT)
        case "ln" | "exp":
            function = {"ln": "math.log", "exp": "math.exp"}[name]
            return Text(f"{function}({first.text})")
        case _:
            return Text(f"{name}({', '.join(a.text for a in arguments)})")
