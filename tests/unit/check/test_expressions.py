"""Constant expressions: exact where sizes are due, limited, without circles."""

from __future__ import annotations

import pytest

from specc.check.expressions import Scope, compute, evaluate, holds, show
from specc.check.names import UNKNOWN, Definition, Evaluated, Names
from specc.check.texts import constant, entry_text, names_in, number_text, real_text, size_text
from specc.diagnostics import Report
from specc.program.dims import dim, number, product, total
from specc.source import Source
from specc.syntax import tree
from specc.syntax.parse import parse


def declared(text: str) -> dict[str, Definition]:
    """Dims and lets of a text."""
    file, found = parse(Source("t.spec", text))
    assert not found
    definitions: dict[str, Definition] = {}
    for declaration in file.declarations:
        if isinstance(declaration, tree.DimDecl):
            definitions[declaration.name] = Definition(declaration.size, is_size=True)
        if isinstance(declaration, tree.Let):
            definitions[declaration.name] = Definition(declaration.value, is_size=False)
    return definitions


def names(text: str, **axes: int) -> Names:
    return Names(declared(text), axes, frozenset(axes), Report(), compute)


def value(text: str, **axes: int) -> Evaluated:
    """Value of the last declaration, in which nothing may be wrong."""
    known = names(text, **axes)
    name, definition = list(known.definitions.items())[-1]
    found = known.value(name, definition.expr.span)
    assert not known.report.diagnostics
    return found


def fault(text: str, **axes: int) -> str:
    """Code, title and label of the one fault in the last declaration."""
    known = names(text, **axes)
    name, definition = list(known.definitions.items())[-1]
    assert known.value(name, definition.expr.span) is UNKNOWN
    (found,) = known.report.diagnostics
    return f"{found.code} {found.title} | {found.labels[0].text}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dim d = 4*(3 + 5) - 2", 30),
        ("dim d = 64K", 65_536),
        ("dim d = 4096\ndim hd = d/32", 128),
        ("dim B = 4*dp", 16),
        ("dim r = round_up(100, 64)", 128),
        ("dim r = ceil_div(100, 64)", 2),
        ("dim r = min(7, 5, 9) + max(1, 2)", 7),
        ("dim r = 17 % 5", 2),
        ("dim big = 9_223_372_036_854_775_807", 2**63 - 1),
        ("let half = 1/2", 0.5),
        ("let two = 4/2", 2),
        ("let root = 0.02/sqrt(2*8)", 0.005),
        ("let none_ = none", None),
        ("let yes = true", True),
        ("let cuts = [15, 31]", (15, 31)),
        ("let cuts = [15, 31]\nlet last = cuts[1]", 31),
        ("let cuts = [15, 31]\nlet last = cuts[-1]", 31),
    ],
)
def test_an_expression_has_its_value(text: str, expected: object) -> None:
    found = value(text, dp=4)
    assert found == expected
    assert type(found) is type(expected)


def test_a_constructor_keeps_its_settings_by_name_and_position() -> None:
    assert show(value("let y = yarn(40, original = 4*1024)")) == "yarn(40, original = 4096)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "dim d = 4096, heads = 30, hd = d/heads",
            "E0206 `d/heads` is not a whole number: 4096 / 30 | 136.533",
        ),
        ("dim d = sqrt(2)", "E0206 `sqrt(2)` is not a whole number | 1.41421"),
        ("dim d = 3 - 5", "E0235 `3 - 5` must be at least 0 | this is -2"),
        (
            "let x = 1e18*1e18",
            "E0230 `1e18*1e18` is too large | more than 64 bits hold",
        ),
        ("let x = 9e307*10.5", "E0230 `9e307*10.5` is too large | more than 64 bits hold"),
        ("let x = exp(1e5)", "E0230 `exp(1e5)` is too large | more than 64 bits hold"),
        ("let x = 3/0", "E0233 `3/0` divides by zero | `0` is 0"),
        ("let x = sqrt(-1)", "E0233 `sqrt(-1)` has no value | undefined"),
        ("let x = ln(0)", "E0233 `ln(0)` has no value | undefined"),
        ("let x = ceil_div(1, 0)", "E0233 `ceil_div(1, 0)` has no value | undefined"),
        ("dim d = vocba + 1", "E0201 unknown dimension or axis `vocba` | not declared"),
        ('let x = "a"*2', "E0232 expected a number, found `a` | not a number"),
        ("let x = true + 1", "E0232 expected a number, found `true` | not a number"),
        ("let x = sqrt(1, 2)", "E0232 `sqrt` takes 1 number | 2 here"),
        ("let x = min(1)", "E0232 `min` takes two or more numbers | 1 here"),
        (
            "let x = [1, 2]\nlet y = x[2]",
            "E0403 `x[2]` runs past the end of a list of 2 | last index is 1",
        ),
        ("dim a = b, b = c, c = a", "E0231 `c` is defined by itself | c -> a -> b -> c"),
    ],
)
def test_a_faulty_expression_says_what_is_wrong(text: str, expected: str) -> None:
    assert fault(text) == expected


def test_a_fault_is_reported_once_however_often_its_name_is_used() -> None:
    known = names("dim a = 7/2, b = a + a, c = b*a")
    for name, definition in known.definitions.items():
        assert known.value(name, definition.expr.span) is UNKNOWN
    assert [d.code for d in known.report.diagnostics] == ["E0206"]


def test_names_of_a_block_hide_names_of_the_file() -> None:
    known = names("dim d = 8\nlet x = d*2")
    scope = Scope(known, known.report, {"d": 5})
    assert evaluate(known.definitions["x"].expr, scope) == 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [("check 8 % 2 == 0", True), ("check 3 < 2", False), ("check 1 + 1", UNKNOWN)],
)
def test_a_check_is_a_comparison(text: str, expected: object) -> None:
    file, _ = parse(Source("t.spec", text + "\n"))
    (check,) = file.declarations
    assert isinstance(check, tree.Check)
    known = names("dim d = 8")
    assert holds(check.condition, Scope(known, known.report)) is expected
    assert known.report.failed is (expected is UNKNOWN)


@pytest.mark.parametrize(
    ("text", "size", "real"),
    [
        ("4*d", "4 * D", "4 * D"),
        ("32*dp", "32 * DP", "32 * DP"),
        ("d/heads", "D // HEADS", "D / HEADS"),
        ("a - (b - c)", "A - (B - C)", "A - (B - C)"),
        ("a + (b + c)", "A + B + C", "A + B + C"),
        ("a*(b + c)", "A * (B + C)", "A * (B + C)"),
        ("a*(b/c)", "A * (B // C)", "A * (B / C)"),
        ("a/(b*c)", "A // (B * C)", "A / (B * C)"),
        ("-d + 2", "-D + 2", "-D + 2"),
        ("ceil_div(d, 4)", "-(-D // 4)", "-(-D // 4)"),
        ("round_up(d + 1, 8)", "-(-(D + 1) // 8) * 8", "-(-(D + 1) // 8) * 8"),
        ("min(a, b*2)", "min(A, B * 2)", "min(A, B * 2)"),
        ("65_536 + d", "65_536 + D", "65_536 + D"),
    ],
)
def test_texts_are_python_that_keeps_the_value(text: str, size: str, real: str) -> None:
    expr = declared(f"let x = {text}")["x"].expr
    assert size_text(expr, constant) == size
    assert real_text(expr, constant) == real
    sizes = {"A": 72, "B": 12, "C": 3, "D": 24, "DP": 2, "HEADS": 4}
    known = names(f"let x = {text}", **{name.lower(): n for name, n in sizes.items()})
    assert eval(size, {}, sizes) == known.value("x", expr.span)  # noqa: S307  our own text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/sqrt(hd)", "HD**-0.5"),
        ("1/sqrt(nope + rd)", "(NOPE + RD) ** -0.5"),
        ("0.02/sqrt(2*depth)", "0.02 / (2 * DEPTH) ** 0.5"),
        ("sqrt(d)", "D**0.5"),
        ("0.1*ln(40) + 1", "0.1 * math.log(40) + 1"),
        ("3e-4", "3e-4"),
    ],
)
def test_roots_are_powers_spaced_as_ruff_spaces_them(text: str, expected: str) -> None:
    assert real_text(declared(f"let x = {text}")["x"].expr, constant) == expected


def test_texts_of_shape_entries_keep_order_and_sums() -> None:
    heads = product(number(3), dim("heads"), dim("hd"))
    assert entry_text(heads) == "3 * HEADS * HD"
    assert entry_text(total(dim("a"), product(dim("b"), number(2)))) == "A + B * 2"
    assert entry_text(product(dim("heads"), total(dim("nope"), dim("rd")))) == "HEADS * (NOPE + RD)"
    assert entry_text(number(1)) == "1"


def test_numbers_are_written_as_people_write_them() -> None:
    assert [number_text(n) for n in (9_999, 14_336, 3e-4, 1e30, 0.02)] == [
        "9999",
        "14_336",
        "3e-4",
        "1e30",
        "0.02",
    ]


def test_all_names_of_an_expression_are_found() -> None:
    expr = declared("let x = f(a, k = [b, c*2]) + d[e]")["x"].expr
    assert names_in(expr) >= {"a", "b", "c", "d"}
