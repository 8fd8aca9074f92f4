"""Long lines are broken where ruff's formatter breaks them."""

import subprocess
import sys

import pytest

from specc.printing.fit import fit

A, B = "alpha" * 6, "beta" * 8
LINES = [
    "x = short(a, b)",
    f"x = f({A}, {B}, {A})",
    f"x = f({A}, {B}, {A}, {B}, {A})",
    f"x = f({A}, {B}, {A}).flatten(2, 3)",
    f"x = f({A}, {B}, {A}).float()",
    f"x = ({A} * {B} * f({A})).float()",
    f"x = f({A}).reshape({B}, {A}, {B})",
    f"x = f({A}).unflatten(2, ({B}, {A})).float()",
    f"return g({A}).h({B}).i({A})",
    f"x = f({A}, b.view({B}).permute(0).reshape({A}, {B}), {A}, {B}, {A})",
    f"return {A} + {B} - f({A})",
    f"a_long_name = f({A}, {B}) / {'c' * 14}",
    f"a_long_name = f({A}, {B}) / {'c' * 18}",
    f"x = f(g({A}, {B}), {A}) * h({B})",
    f"x = f(g({A}, {B}), {A}) + h.i({A}, {B}, {A})",
    f"x = f({A}) * h({A}, {B}, {A})",
    f"return {A} * {B} + f({A}, {B})",
    f"x = f({A}, {B}, c) * {A}",
    f"x = {A} + f({A}, {B})",
    f"x = ({A} * {B} * {A} + f({B})).float()",
    f"x = f({A}, {A} * {B} * f({B}) + f({B}, {A}), c)",
    f"x = f({A} + {B} + {A} - ({B} - {A}))",
    f"x = {{'a': {A}, 'b': {B}, 'c': {A}}}".replace("'", '"'),
    f"x = [{A}, {B}, {A}]",
    f"x = f({A}, b, c, d, e, f=None)  # why this is so, and how it came about",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_broken_as_ruff_breaks_it(line: str) -> None:
    head = "def f():\n    def g():\n"
    made = head + "\n".join(fit(line, 8)) + "\n"
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--line-length", "100", "--isolated", "-"],
        input=head + " " * 8 + line + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert made == done.stdout
