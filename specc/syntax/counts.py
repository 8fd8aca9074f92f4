"""Sizes are counts: a unit in one is most often a forgotten `*`."""

from __future__ import annotations

from specc.diagnostics import Edit, Help, Report
from specc.syntax import tree
from specc.syntax.brief import brief

_WORDS = {
    "seconds": ("a duration", "this is a time"),
    "bytes": ("a size in bytes", "this is in bytes"),
    "rate": ("a rate", "this is in bytes per second"),
}


def check_count(size: tree.Expr | tree.Others, report: Report) -> None:
    """Report every number with a unit in the arithmetic of a size."""
    waiting = [size]
    while waiting:
        match waiting.pop():
            case tree.Binary(_, left, right):
                waiting += (left, right)
            case tree.Negate(inner) | tree.Group(inner):
                waiting.append(inner)
            case tree.Number() as number if number.unit:
                _report_unit(number, report)
            case _:
                pass


def _report_unit(number: tree.Number, report: Report) -> None:
    what, label = _WORDS[number.unit]
    text = brief(number.text)
    if number.unit != "seconds":
        ways = ("write a plain number, or one with K, M or G (1024s)",)
        report.error(
            "E0106", number.span, f"expected a count, found {what} `{text}`", label, helps=ways
        )
        return
    digits = number.text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    product = f"{digits}*{number.text[len(digits) :]}"
    way = Help(f"for the product write `{product}`", (Edit(number.span, product),), "likely")
    report.error(
        "E0106", number.span, f"expected a count, found {what} `{text}`", label, helps=(way,)
    )
