"""Characters that have no place in a spec, and how the text is read on without them."""

from __future__ import annotations

import pytest

from specc.diagnostics import Diagnostic
from specc.source import Source
from specc.syntax import tree
from specc.syntax.parse import parse
from tests.unit.syntax.applied import applied


def read(text: str) -> tuple[tree.File, tuple[Diagnostic, ...]]:
    return parse(Source("a.spec", text))


def only(text: str) -> Diagnostic:
    (diagnostic,) = read(text)[1]
    return diagnostic


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("dim a = 1，b = 2", "dim a = 1,b = 2"),
        ("dim a ＝ 1", "dim a = 1"),
        ("model M（x： ［B］） －＞ ［B］ ｛ return x ｝", "model M(x: [B]) -> [B] { return x }"),
        ("let a = f（1、2）", "let a = f(1,2)"),
        ("let a = b＊c ＋ ４／ｄ", "let a = b*c + 4/d"),
        ("let a = b。c", "let a = b.c"),
        ("let a = 【1，2】", "let a = [1,2]"),
        ("let a = 1；let b = 2", "let a = 1;let b = 2"),
        ("let a = “data/*.bin”", 'let a = "data/*.bin"'),
        ("let a = ‘x，y’", 'let a = "x，y"'),
        ("let a = ＂x＂", 'let a = "x"'),
        ("dim a = 1 ＃ 说明，中文", "dim a = 1 # 说明，中文"),
        ("let a = b → f", "let a = b -> f"),
        ("check a ≤ b", "check a <= b"),
        ("check a ≠ b", "check a != b"),
        ("let a = 2×b − c÷d", "let a = 2*b - c/d"),
        ("let a = f(x)[0…4]", "let a = f(x)[0..4]"),
        ("dim\u00a0a\u3000= 1", "dim a = 1"),
        ("ｄｉｍ ａ = １", "dim a = 1"),
    ],
)
def test_look_alikes_are_read_as_what_they_stand_for(wrong: str, right: str) -> None:
    file, (diagnostic,) = read(wrong)
    assert diagnostic.code == "E0115"
    assert file.declarations == read(right)[0].declarations
    assert file.poisoned == file.incomplete == frozenset()
    assert applied(wrong, [diagnostic]) == right


def test_look_alikes_of_a_line_are_one_finding_with_a_remark_each() -> None:
    diagnostic = only("dim a ＝ 1，b = 2")
    assert diagnostic.title == "`＝` is a full-width sign, not the ASCII sign `=`"
    assert [(label.span.text, label.text) for label in diagnostic.labels] == [
        ("＝", "write `=`"),
        ("，", "write `,`"),
    ]
    assert diagnostic.helps[0].text == "write `=` `,`; comments and strings may hold any character"


def test_look_alikes_of_two_lines_are_two_findings() -> None:
    _, diagnostics = read("dim a ＝ 1\ndim b ＝ 2\n")
    assert [diagnostic.labels[0].span.line for diagnostic in diagnostics] == [1, 2]


def test_other_faults_of_a_line_with_look_alikes_are_found_at_their_place() -> None:
    _, (wide, other) = read("dim a ＝ 1，b →\n")
    assert wide.code == "E0115"
    assert (other.code, other.title) == ("E0101", "expected `=`, found `->`")
    assert other.labels[0].span.text == "→"


def test_spaces_have_a_sentence_of_their_own() -> None:
    diagnostic = only("dim a\u00a0= 1")
    assert diagnostic.title == "NO-BREAK SPACE (U+00A0) stands where a plain space belongs"
    assert diagnostic.labels[0].text == "write a space"


@pytest.mark.parametrize("text", ["# 中文，（）“”→ \u00a0", 'let a = "中文，（）“”→\u00a0"'])
def test_comments_and_strings_hold_any_character(text: str) -> None:
    assert read(text)[1] == ()


@pytest.mark.parametrize(
    ("char", "name"),
    [
        ("\0", "NUL (U+0000)"),
        ("\x0c", "FORM FEED (U+000C)"),
        ("\x1b", "ESCAPE (U+001B)"),
        ("\x01", "a control character (U+0001)"),
        ("\u2028", "LINE SEPARATOR (U+2028)"),
        ("\u202e", "RIGHT-TO-LEFT OVERRIDE (U+202E)"),
        ("\ud800", "a control character (U+D800)"),
    ],
)
@pytest.mark.parametrize("form", ["# {}\n", 'let a = "{}"\n', "dim a = 1{}\n"])
def test_control_characters_are_refused_everywhere(form: str, char: str, name: str) -> None:
    text = form.format(char)
    diagnostic = only(text)
    assert diagnostic.code == "E0114"
    assert diagnostic.title == f"a spec cannot hold the invisible character {name}"
    assert applied(text, [diagnostic]) == form.format("")


def test_one_control_character_is_one_finding_however_often_it_stands() -> None:
    diagnostic = only("# \0\0\n# \0\n")
    assert diagnostic.labels[0].text == "here, 3 times in this file"
    assert len(diagnostic.helps[0].edits) == 3


def test_a_carriage_return_alone_ends_no_line() -> None:
    diagnostic = only("dim a = 1\rdim b = 2\r")
    assert diagnostic.title.endswith("CARRIAGE RETURN without a line feed (U+000D)")
    assert applied("dim a = 1\rdim b = 2\r", [diagnostic]) == "dim a = 1\ndim b = 2\n"


@pytest.mark.parametrize("char", ["\u200b", "\u200d", "\ufeff", "\u00ad"])
def test_invisible_characters_between_visible_ones_are_refused(char: str) -> None:
    text = f"dim he{char}ads = 1"
    _, diagnostics = read(text)
    assert [diagnostic.code for diagnostic in diagnostics] == ["E0114"]
    assert applied(text, diagnostics) == "dim heads = 1"
    assert read(f"# {char}")[1] == ()


@pytest.mark.parametrize(
    ("name", "first", "described"),
    [
        ("层", "层", "CJK UNIFIED IDEOGRAPH-5C42 (U+5C42)"),
        ("α", "α", "GREEK SMALL LETTER ALPHA (U+03B1)"),
        ("café", "é", "LATIN SMALL LETTER E WITH ACUTE (U+00E9)"),
        ("dа", "а", "CYRILLIC SMALL LETTER A (U+0430)"),
        ("x²", "²", "SUPERSCRIPT TWO (U+00B2)"),
    ],
)
def test_names_are_ascii(name: str, first: str, described: str) -> None:
    file, (diagnostic,) = read(f"dim {name} = 1\ndim b = 2\n")
    assert diagnostic.code == "E0116"
    assert diagnostic.title == f"`{name}` is not a name: it has letters beyond ASCII"
    assert diagnostic.notes == (f"`{first}` is {described}",)
    assert [declaration.span.text for declaration in file.declarations] == ["b = 2"]


def test_a_foreign_name_is_reported_once_however_often_it_stands() -> None:
    diagnostic = only("dim 层 = 1\nblock A(x: [层]) -> [层] {\n  return f(x, 层)\n}\n")
    assert diagnostic.labels[0].span.line == 1
    assert diagnostic.labels[0].text == "not a name, 4 times in this file"


def test_a_greek_letter_can_be_spelled_out() -> None:
    assert only("dim α = 1").helps[-1].text == "write `alpha`"


def test_a_number_with_a_letter_behind_it_is_reported_once() -> None:
    assert only("dim a = 4层").code == "E0116"


@pytest.mark.parametrize("sign", ["@", "$", "?", "&&", "||", "!", "^", "~", "`", "\\", "😀", "€"])
def test_signs_that_the_language_has_not(sign: str) -> None:
    file, (diagnostic,) = read(f"let a = b {sign} c\ndim d = 1\n")
    assert (diagnostic.code, diagnostic.title) == (
        "E0122",
        f"`{sign}` is not a sign of the language",
    )
    assert diagnostic.labels[0].span.text == sign
    assert file.poisoned == {"a"}
    assert len(file.declarations) == 1


def test_an_apostrophe_alone_is_no_string() -> None:
    assert only("let a = don't").title == "`'` is not a sign of the language"


# --------------------------------------------------------------------------------- strings


def test_a_string_without_an_end_takes_nothing_with_it() -> None:
    text = (
        "train {\n"
        '  save { every = 500, dir = "ckpt/longctx, keep = 3, async = true }\n'
        "  steps = 100\n}\ndim d = 1\n"
    )
    file, (diagnostic,) = read(text)
    assert (diagnostic.code, diagnostic.title) == ("E0103", "this string is not closed on its line")
    assert diagnostic.labels[0].span.text == '"ckpt/longctx, keep = 3, async = true }'
    assert diagnostic.helps[0].text == 'close it with `"`; strings do not span lines'
    train, dim = file.declarations
    assert isinstance(train, tree.Train)
    saved, steps = train.attrs
    assert isinstance(saved, tree.Nested)
    assert [setting.span.text for setting in saved.attrs] == [
        "every = 500",
        "keep = 3",
        "async = true",
    ]
    assert steps.span.text == "steps = 100"
    assert isinstance(dim, tree.DimDecl)
    assert file.incomplete == {"train"}


def test_a_string_closed_by_another_quote_says_which() -> None:
    diagnostic = only('let a = "abc”\n')
    assert diagnostic.helps[0].text == '`”` does not close it; write `"`'


@pytest.mark.parametrize("text", ['let a = "', 'let a = "\\', 'let a = "b\\"', 'check a == b, "c'])
def test_strings_without_an_end_at_the_end_of_the_file(text: str) -> None:
    assert only(text).code == "E0103"
