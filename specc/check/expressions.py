"""Evaluates constant expressions: sizes, settings, lists and constructor words."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import attrs

from specc.check.names import UNKNOWN, Definition, Evaluated, Names, Unknown
from specc.diagnostics import nearest
from specc.syntax import tree
from specc.vocabulary.record import Constructor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from specc.diagnostics import Report
    from specc.source import Span

LIMIT = 2**63 - 1
WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "none": None}
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Constant functions with the number of arguments each takes; None is two or more.
FUNCTIONS: Mapping[str, tuple[int | None, Callable[[Sequence[float]], float]]] = {
    "min": (None, min),
    "max": (None, max),
    "ceil_div": (2, lambda n: -(-n[0] // n[1])),
    "round_up": (2, lambda n: -(-n[0] // n[1]) * n[1]),
    "sqrt": (1, lambda n: math.sqrt(n[0])),
    "ln": (1, lambda n: math.log(n[0])),
    "exp": (1, lambda n: math.exp(n[0])),
}
WHOLE = ("ceil_div", "round_up")


@attrs.frozen
class Scope:
    """What the names of an expression mean.

    Args:
        local: a block's static settings, formal dims and list indices; they hide names of the file.
    """

    names: Names
    report: Report
    local: Mapping[str, Evaluated] = attrs.field(factory=dict[str, Evaluated])

    def within(self, local: Mapping[str, Evaluated]) -> Scope:
        """The same scope with further local names."""
        return attrs.evolve(self, local={**self.local, **local})


def compute(definition: Definition, names: Names) -> Evaluated:
    """Value of a dim or a let."""
    scope = Scope(names, names.report)
    if definition.is_size:
        return whole(definition.expr, scope, least=0)
    return evaluate(definition.expr, scope)


def evaluate(expr: tree.Expr, scope: Scope, *, exact: bool = False) -> Evaluated:
    """Value of a constant expression; UNKNOWN when something is wrong, which has been reported.

    Args:
        exact: a size is due, so `/` must leave no remainder; elsewhere it gives a real number then.
    """
    match expr:
        case tree.Number(value, _, text, span):
            return _limited(value, text, span, scope)
        case tree.Text(value):
            return value
        case tree.Name(name, span):
            return _name(name, span, scope)
        case tree.Group(inner):
            return evaluate(inner, scope, exact=exact)
        case tree.Negate(operand):
            value = number_of(operand, scope, exact=exact)
            return value if isinstance(value, Unknown) else -value
        case tree.Binary():
            return _binary(expr, scope, exact=exact)
        case tree.Call():
            return _call(expr, scope, exact=exact)
        case tree.ListOf(items):
            values = [evaluate(item, scope, exact=exact) for item in items]
            known = tuple(v for v in values if not isinstance(v, Unknown))
            return known if len(known) == len(values) else UNKNOWN
        case tree.Item():
            return _item(expr, scope)
        case _:
            scope.report.error("E0232", expr.span, "expected a constant value", "not a constant")
            return UNKNOWN


def whole(expr: tree.Expr, scope: Scope, *, least: int) -> int | Unknown:
    """A size: a whole number of at least `least`."""
    value = number_of(expr, scope, exact=True)
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, float):
        if not value.is_integer():
            scope.report.error(
                "E0206", expr.span, f"`{expr.span.text}` is not a whole number", f"{value:.6g}"
            )
            return UNKNOWN
        value = int(value)
        if isinstance(_limited(value, expr.span.text, expr.span, scope), Unknown):
            return UNKNOWN
    if value < least:
        scope.report.error(
            "E0235", expr.span, f"`{expr.span.text}` must be at least {least}", f"this is {value}"
        )
        return UNKNOWN
    return value


def holds(condition: tree.Expr, scope: Scope) -> bool | Unknown:
    """Whether the condition of a `check` line holds."""
    value = evaluate(condition, scope)
    if isinstance(value, Unknown | bool):
        return value
    scope.report.error(
        "E0232",
        condition.span,
        "`check` takes a comparison",
        f"this is {show(value)}",
        helps=["write it with `==`, `!=`, `<`, `<=`, `>` or `>=`"],
    )
    return UNKNOWN


def show(value: Evaluated) -> str:
    """A value as a spec writes it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case tuple():
            return "[" + ", ".join(show(item) for item in value) + "]"
        case Constructor(name, settings):
            inner = ", ".join(
                show(v) if k.isdigit() else f"{k} = {show(v)}" for k, v in settings.items()
            )
            return f"{name}({inner})"
        case float():
            return f"{value:.6g}"
        case Unknown():
            return "unknown"
        case _:
            return str(value)


# ------------------------------------------------------------------------------------ pieces


def _name(name: str, span: Span, scope: Scope) -> Evaluated:
    if name in scope.local:
        return scope.local[name]
    if name in scope.names:
        return scope.names.value(name, span)
    if name in WORDS:
        return WORDS[name]
    return name  # a word; whoever needs a number reports it


def number_of(expr: tree.Expr, scope: Scope, *, exact: bool = False) -> int | float | Unknown:
    """A number, or a report that this is none."""
    value = evaluate(expr, scope, exact=exact)
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(expr, tree.Name) and value == expr.name:
        near = nearest(expr.name, [*scope.local, *scope.names.all])
        helps = [f"did you mean `{near}`?"] if near else [f"declare it: `dim {expr.name} = ...`"]
        title = f"unknown dimension or axis `{expr.name}`"
        scope.report.error("E0201", expr.span, title, "not declared", helps=helps)
    else:
        title = f"expected a number, found `{show(value)}`"
        scope.report.error("E0232", expr.span, title, "not a number")
    return UNKNOWN


def _limited(value: float, text: str, span: Span, scope: Scope) -> Evaluated:
    fits = abs(value) <= LIMIT if isinstance(value, int) else math.isfinite(value)
    if fits:
        return value
    scope.report.error(
        "E0230",
        span,
        f"`{text}` is too large",
        "more than 64 bits hold",
        notes=[f"whole numbers reach up to {LIMIT}"],
    )
    return UNKNOWN


def _binary(expr: tree.Binary, scope: Scope, *, exact: bool) -> Evaluated:
    if expr.op in ("==", "!="):
        left, right = evaluate(expr.left, scope), evaluate(expr.right, scope)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return UNKNOWN
        return (left == right) is (expr.op == "==")
    left = number_of(expr.left, scope, exact=exact)
    right = number_of(expr.right, scope, exact=exact)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if expr.op in COMPARISONS:
        return COMPARISONS[expr.op](left, right)
    if expr.op in "/%" and right == 0:
        scope.report.error(
            "E0233",
            expr.span,
            f"`{expr.span.text}` divides by zero",
            f"`{expr.right.span.text}` is 0",
        )
        return UNKNOWN
    if expr.op == "/":
        return _quotient(expr, left, right, scope, exact=exact)
    apply = {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}[expr.op]
    return _limited(apply(left, right), expr.span.text, expr.span, scope)


def _quotient(
    expr: tree.Binary, left: float, right: float, scope: Scope, *, exact: bool
) -> Evaluated:
    if isinstance(left, int) and isinstance(right, int):
        if left % right == 0:
            return left // right
        if exact:
            scope.report.error(
                "E0206",
                expr.span,
                f"`{expr.span.text}` is not a whole number: {left} / {right}",
                f"{left / right:.6g}",
            )
            return UNKNOWN
    return _limited(left / right, expr.span.text, expr.span, scope)


def _call(expr: tree.Call, scope: Scope, *, exact: bool) -> Evaluated:
    if not isinstance(expr.function, tree.Name):
        scope.report.error("E0232", expr.span, "expected a constant value", "not a constant")
        return UNKNOWN
    if expr.function.name in FUNCTIONS:
        return _apply(expr, expr.function.name, scope, exact=exact)
    settings = {
        argument.name or str(position): evaluate(argument.value, scope)
        for position, argument in enumerate(expr.arguments)
    }
    known = {k: v for k, v in settings.items() if not isinstance(v, Unknown)}
    return Constructor(expr.function.name, known) if len(known) == len(settings) else UNKNOWN


def _apply(expr: tree.Call, name: str, scope: Scope, *, exact: bool) -> Evaluated:
    count, function = FUNCTIONS[name]
    given = len(expr.arguments)
    if any(a.name for a in expr.arguments) or (given < 2 if count is None else given != count):
        wanted = "two or more numbers" if count is None else f"{count} number{'s' * (count > 1)}"
        scope.report.error("E0232", expr.span, f"`{name}` takes {wanted}", f"{given} here")
        return UNKNOWN
    values = [number_of(argument.value, scope, exact=exact) for argument in expr.arguments]
    numbers = [v for v in values if not isinstance(v, Unknown)]
    if len(numbers) < len(values):
        return UNKNOWN
    if name in WHOLE and not all(isinstance(n, int) for n in numbers):
        scope.report.error("E0232", expr.span, f"`{name}` takes whole numbers", "not whole")
        return UNKNOWN
    try:
        result = function(numbers)
    except (ValueError, ZeroDivisionError):
        shown = ", ".join(show(n) for n in numbers)
        scope.report.error("E0233", expr.span, f"`{name}({shown})` has no value", "undefined")
        return UNKNOWN
    except OverflowError:
        result = math.inf
    return _limited(result, expr.span.text, expr.span, scope)


def _item(expr: tree.Item, scope: Scope) -> Evaluated:
    base = evaluate(expr.base, scope)
    if isinstance(base, Unknown):
        return UNKNOWN
    index = expr.indices[0] if len(expr.indices) == 1 else None
    if not isinstance(base, tuple) or index is None or isinstance(index, tree.Range | tree.Every):
        scope.report.error("E0232", expr.span, "expected an element of a list", "not an element")
        return UNKNOWN
    position = whole(index, scope, least=-len(base))
    if isinstance(position, Unknown):
        return UNKNOWN
    if position >= len(base):
        title = f"`{expr.span.text}` runs past the end of a list of {len(base)}"
        scope.report.error("E0403", index.span, title, f"last index is {len(base) - 1}")
        return UNKNOWN
    return base[position]
