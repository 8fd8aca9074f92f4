"""Values of numbers and strings, and what is wrong with faulty ones."""

from __future__ import annotations

import math

import pytest

from specc.diagnostics import Diagnostic
from specc.source import Source
from specc.syntax import tree
from specc.syntax.parse import parse


def read(text: str) -> tuple[tree.Expr, tuple[Diagnostic, ...]]:
    file, diagnostics = parse(Source("a.spec", f"let a = {text}"))
    (declaration,) = file.declarations
    assert isinstance(declaration, tree.Let)
    return declaration.value, diagnostics


def number(text: str) -> tree.Number:
    value, diagnostics = read(text)
    assert diagnostics == ()
    assert isinstance(value, tree.Number)
    assert value.text == text
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("7", 7),
        ("50_304", 50_304),
        ("64K", 65_536),
        ("1.5K", 1536),
        ("4M", 4 * 2**20),
        ("2G", 2 * 2**30),
        ("1e12", 10**12),
        ("1E3", 1000),
        ("1.5e3", 1500),
        ("10e0", 10),
        ("9223372036854775807", 2**63 - 1),
        ("0.5", 0.5),
        ("1.0", 1.0),
        ("3e-4", 3e-4),
        ("1_000.000_1", 1000.0001),
        ("0.1K", 102.4),
        ("1e30", 1e30),
        ("1e-300", 1e-300),
    ],
)
def test_plain_numbers(text: str, value: float) -> None:
    found = number(text)
    assert found.value == value
    assert type(found.value) is type(value)
    assert found.unit == ""


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("48GiB", "bytes", 48 * 2**30),
        ("1KiB", "bytes", 1024),
        ("1MiB", "bytes", 2**20),
        ("2TiB", "bytes", 2 * 2**40),
        ("1KB", "bytes", 1000),
        ("3MB", "bytes", 3_000_000),
        ("0.5GB", "bytes", 500_000_000),
        ("1TB", "bytes", 10**12),
        ("100ms", "seconds", 0.1),
        ("1s", "seconds", 1),
        ("10min", "seconds", 600),
        ("1.5h", "seconds", 5400),
        ("2d", "seconds", 172_800),
        ("64GBps", "rate", 64 * 10**9),
        ("200Gbps", "rate", 25 * 10**9),
    ],
)
def test_units(text: str, unit: str, value: float) -> None:
    found = number(text)
    assert (found.unit, found.value) == (unit, value)
    assert type(found.value) is type(value)


def test_a_real_number_is_the_nearest_one() -> None:
    assert number("0.1").value == 0.1
    assert number("1.7976931348623157e308").value == 1.7976931348623157e308


@pytest.mark.parametrize(
    ("text", "code", "title", "better"),
    [
        ("1_", "E0104", "`_` in `1_` does not part two digits", "1"),
        ("1__0", "E0104", "`_` in `1__0` does not part two digits", "1_0"),
        ("0.5_", "E0104", "`_` in `0.5_` does not part two digits", "0.5"),
        ("007", "E0104", "`007` begins with a zero", "7"),
        ("00", "E0104", "`00` begins with a zero", "0"),
        ("00.5", "E0104", "`00.5` begins with a zero", "0.5"),
        ("010K", "E0104", "`010K` begins with a zero", "10K"),
        ("8B", "E0105", "unknown unit `B`", "8e9"),
        ("8T", "E0105", "unknown unit `T`", "8e12"),
        ("4k", "E0105", "unknown unit `k`", "4K"),
        ("10sec", "E0105", "unknown unit `sec`", "10s"),
        ("48gb", "E0105", "unknown unit `gb`", "48GB"),
        ("48Gib", "E0105", "unknown unit `Gib`", "48GiB"),
        ("64Gbs", "E0105", "unknown unit `Gbs`", "64Gbps"),
        ("4width", "E0105", "unknown unit `width`", "4*width"),
        ("0x10", "E0105", "unknown unit `x10`", "0*x10"),
    ],
)
def test_faulty_numbers(text: str, code: str, title: str, better: str) -> None:
    value, (diagnostic,) = read(text)
    assert isinstance(value, tree.Number)
    assert (diagnostic.code, diagnostic.title) == (code, title)
    assert diagnostic.labels[0].span.text == text
    (edit,) = diagnostic.helps[0].edits
    assert edit.text == better


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808",
        "99_999_999_999_999_999_999",
        "16777216TiB",
        "1e400",
        "1e-400",
        "1e999999999999",
        "9" * 5000,
        "1." + "0" * 5000,
    ],
)
def test_numbers_beyond_64_bits(text: str) -> None:
    _, (diagnostic,) = read(text)
    assert diagnostic.code == "E0107"
    assert len(diagnostic.title) < 100


def test_a_number_with_an_exponent_may_be_a_large_float() -> None:
    value = number("1e300").value
    assert isinstance(value, float)
    assert math.isfinite(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('""', ""),
        ('"data/*.bin"', "data/*.bin"),
        (r'"a \"b\" \\ c\n\t"', 'a "b" \\ c\n\t'),
        ('"# no comment, 中文，"', "# no comment, 中文，"),
    ],
)
def test_strings(text: str, value: str) -> None:
    found, diagnostics = read(text)
    assert diagnostics == ()
    assert isinstance(found, tree.Text)
    assert found.value == value


def test_an_unknown_escape_stays_and_is_reported_at_its_place() -> None:
    found, (diagnostic,) = read(r'"data\new\q"')
    assert isinstance(found, tree.Text)
    assert found.value == "data\new\\q"
    assert (diagnostic.code, diagnostic.title) == ("E0120", r"unknown escape `\q` in a string")
    assert diagnostic.labels[0].span.text == r"\q"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("dim a = 4d", "a duration `4d`"),
        ("dim a = 2*(1 + 3min)", "a duration `3min`"),
        ("dim a = 1GB", "a size in bytes `1GB`"),
        ("mesh { dp = 1GBps }", "a rate `1GBps`"),
        ("block A(x: [4d]) -> [B] {}", "a duration `4d`"),
        ("let a = repeat 2h A", "a duration `2h`"),
        ("let a = x as [B, 4s]", "a duration `4s`"),
    ],
)
def test_a_count_has_no_unit(text: str, what: str) -> None:
    _, (diagnostic,) = parse(Source("a.spec", text))
    assert (diagnostic.code, diagnostic.title) == ("E0106", f"expected a count, found {what}")


def test_a_setting_may_have_any_unit() -> None:
    _, diagnostics = parse(Source("a.spec", "launch { timeout = 10min, memory = 48GiB }"))
    assert diagnostics == ()
