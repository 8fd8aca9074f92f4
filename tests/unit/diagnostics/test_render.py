"""Messages as people, editors and GitHub get them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specc.diagnostics import Diagnostic, Edit, Help, Label
from specc.diagnostics import render as rendering
from specc.diagnostics.display import displayed
from specc.diagnostics.render import (
    ColorChoice,
    render,
    render_github,
    render_text,
    summary,
    wants_color,
)
from specc.source import Source, Span
from tests.unit.diagnostics.places import at, file, label

Make = Callable[[], Diagnostic]

SCHEMA = Path(rendering.__file__).with_name("diagnostic.schema.json")


def helps(*texts: str) -> tuple[Help, ...]:
    return tuple(Help(text) for text in texts)


# --- text: the messages of the language's page ---------------------------------------------------


def misspelt_verb() -> Diagnostic:
    source = file("tinyllm.spec", l28="  dp: shrad B, params per Block  # one unit per Block")
    return Diagnostic(
        "E0101",
        "expected `replicate`, `shard` or `stage`, found `shrad`",
        (label(source, "shrad", "expected `replicate`, `shard` or `stage`"),),
        helps=helps("did you mean `shard`?"),
    )


def no_remark() -> Diagnostic:
    source = file("tinyllm.spec", l25="mesh { dp = 8 { rep = 2, fsdp = 3 } }")
    return Diagnostic(
        "E0303",
        "sub-axes of `dp` multiply to 6, not 8",
        (label(source, "dp = 8 { rep = 2, fsdp = 3 }"),),
    )


def neighbouring_lines() -> Diagnostic:
    source = file("tinyllm.spec", l4="dim d = 4096, ff = 4*d", l5="dim S = 1024, d = 2")
    return Diagnostic(
        "E0203",
        "dimension `d` is declared twice",
        (label(source, "d", "again here", 4), label(source, "d ", "first here", 0)),
    )


def two_on_a_line() -> Diagnostic:
    source = file("tinyllm.spec", l22="  return head(x) + x")
    return Diagnostic(
        "E0212",
        "cannot add [B, S, vocab] and [B, S, d]",
        (
            label(source, "x", "this is [B, S, d]", 1),
            label(source, "head(x)", "this is [B, S, vocab]"),
        ),
    )


def a_gap() -> Diagnostic:
    source = file(
        "run.spec",
        l1="  tie head.weight = wte.weight",
        l5="    first = [wte], last = [head]",
    )
    return Diagnostic(
        "E0412",
        "`head.weight` is tied to `wte.weight`, but they live in different stages",
        (
            label(source, "tie head.weight = wte.weight", "one tensor cannot be in two stages"),
            label(source, "first = [wte]", "stage 0"),
            label(source, "last = [head]", "stage 3"),
        ),
        helps=helps("untie them, or keep both in one stage"),
    )


def several_lines() -> Diagnostic:
    source = file("longctx.spec", l20="mesh on s4000x16 {  ", l21="  dp = 4", l22="}")
    start = source.text.index("mesh")
    span = Span(source, start, source.text.index("}") + 1)
    return Diagnostic(
        "E0302",
        "world size 15 is not divisible by 2",
        (Label(span, "not whole"),),
        notes=("the first line\nand the second",),
    )


def other_file() -> Diagnostic:
    source = file("run.spec", l9="  attn: Attention(kv = 3)")
    library = file("lib/llama.spec", l104="  check heads % kv == 0")
    return Diagnostic(
        "E0208",
        "a check of `Attention` fails",
        (label(source, "kv = 3", "3 here"), label(library, "heads % kv == 0", "fails")),
        situation="profile smoke",
    )


TEXTS: dict[Make, str] = {
    misspelt_verb: """\
error[E0101]: expected `replicate`, `shard` or `stage`, found `shrad`
  --> tinyllm.spec:28:7
   |
28 |   dp: shrad B, params per Block  # one unit per Block
   |       ^^^^^ expected `replicate`, `shard` or `stage`
   |
   = help: did you mean `shard`?""",
    no_remark: """\
error[E0303]: sub-axes of `dp` multiply to 6, not 8
  --> tinyllm.spec:25:8
   |
25 | mesh { dp = 8 { rep = 2, fsdp = 3 } }
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    neighbouring_lines: """\
error[E0203]: dimension `d` is declared twice
 --> tinyllm.spec:5:15
  |
4 | dim d = 4096, ff = 4*d
  |     -- first here
5 | dim S = 1024, d = 2
  |               ^ again here""",
    two_on_a_line: """\
error[E0212]: cannot add [B, S, vocab] and [B, S, d]
  --> tinyllm.spec:22:20
   |
22 |   return head(x) + x
   |          -------   ^ this is [B, S, d]
   |          |
   |          this is [B, S, vocab]""",
    a_gap: """\
error[E0412]: `head.weight` is tied to `wte.weight`, but they live in different stages
 --> run.spec:1:3
  |
1 |   tie head.weight = wte.weight
  |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one tensor cannot be in two stages
...
5 |     first = [wte], last = [head]
  |     -------------  ------------- stage 3
  |     |
  |     stage 0
  |
  = help: untie them, or keep both in one stage""",
    several_lines: """\
error[E0302]: world size 15 is not divisible by 2
  --> longctx.spec:20:1
   |
20 | mesh on s4000x16 {
   | ^^^^^^^^^^^^^^^^^^ not whole
   |
   = note: the first line
           and the second""",
    other_file: """\
error[E0208]: profile smoke: a check of `Attention` fails
   --> run.spec:9:19
    |
  9 |   attn: Attention(kv = 3)
    |                   ^^^^^^ 3 here
    |
   ::: lib/llama.spec:104:9
    |
104 |   check heads % kv == 0
    |         --------------- fails""",
}


@pytest.mark.parametrize("make", TEXTS, ids=lambda make: make.__name__)
def test_text_is_drawn_as_the_language_page_shows_it(make: Make) -> None:
    assert render_text(make()) == TEXTS[make]


# --- text: hard places ---------------------------------------------------------------------------


def test_carets_stand_below_wide_characters_and_tabs() -> None:
    source = Source("a.spec", "\t标签: Foo  # 注释\n")
    text = render_text(Diagnostic("E0202", "t", (label(source, "Foo", "here"),)))
    assert text.splitlines()[3:] == ["1 |     标签: Foo  # 注释", "  |           ^^^ here"]


def test_combining_characters_take_no_column() -> None:
    assert displayed("e\u0301x").columns == (0, 1, 1, 2)


def test_control_and_bidirectional_characters_cannot_act_on_the_terminal() -> None:
    source = Source("a.spec", 'x = "\x1b[2J\u202e" + y\n')
    text = render_text(Diagnostic("E0204", "bad \x1b[31m name", (label(source, "y", "here"),)))
    assert not {"\x1b", "\u202e"} & set(text)
    shown = text.splitlines()[3]
    caret = text.splitlines()[4].index("^")
    assert shown[caret] == "y"
    assert "\x1b" not in render_github(Diagnostic("E0204", "bad \x1b[31m name"))


@pytest.mark.parametrize("where", [0, 40, 399])
def test_a_long_line_is_cut_around_its_label(where: int) -> None:
    words = ["aaa"] * 400
    words[where] = "WRONG"
    source = Source("a.spec", "+".join(words) + "\n")
    lines = render_text(
        Diagnostic("E0204", "t", (label(source, "WRONG", "here"),)), width=60
    ).splitlines()
    start = lines[4].index("^^^^^ here")
    assert lines[3][start : start + 5] == "WRONG"
    assert len(lines[3]) <= len("1 | ") + 60 + 2 * len("...")
    assert lines[3].startswith("1 | ...") == (where > 0)
    assert lines[3].endswith("...") == (where < 399)


def test_a_cut_never_halves_a_wide_character() -> None:
    source = Source("a.spec", "标" * 100 + "WRONG" + "签" * 101 + "\n")
    for width in (40, 41, 42, 43):
        diagnostic = Diagnostic("E0204", "t", (label(source, "WRONG", "here"),))
        shown, under = render_text(diagnostic, width=width).splitlines()[3:5]
        before = shown[4 : shown.index("WRONG")]
        columns = displayed(before).columns[-1]
        assert under[4:].index("^") == columns


def test_a_label_longer_than_the_paper_is_cut_at_both_ends() -> None:
    source = Source("a.spec", "f(" + "a, " * 200 + "b)\n")
    diagnostic = Diagnostic("E0204", "t", (label(source, source.text.strip(), "the call"),))
    shown, under = render_text(diagnostic, width=50).splitlines()[3:5]
    assert shown == "1 | " + source.text[:50] + "..."
    assert under == "  | " + "^" * 50 + " the call"


def test_a_line_of_two_million_characters_costs_no_more_than_a_short_one() -> None:
    source = Source("a.spec", "x" * 2_000_000)
    findings = [
        Diagnostic("E0204", "t", (Label(Span(source, at, at + 5), "here"),))
        for at in range(0, 2_000_000, 10_000)
    ]
    assert len(render(findings)) < 300 * len(findings)  # quadratic work would run into the timeout


def test_nested_and_equal_labels_all_keep_their_remarks() -> None:
    source = Source("a.spec", "y = f(q, k, v)\n")
    labels = (
        label(source, "k", "heads"),
        label(source, "f(q, k, v)", "the call"),
        label(source, "q", "queries"),
        label(source, "k", "again"),
    )
    text = render_text(Diagnostic("E0219", "t", labels))
    assert [line[4:] for line in text.splitlines()[4:]] == [
        "    -----^----",
        "    | |  |",
        "    | |  again",
        "    | |  heads",
        "    | queries",
        "    the call",
    ]


def test_the_end_of_a_file_and_an_empty_file_have_a_place() -> None:
    source = Source("a.spec", "model M {\n")
    end = Span(source, len(source.text), len(source.text))
    text = render_text(Diagnostic("E0102", "t", (Label(end, "expected `}`"),)))
    assert text.splitlines()[1:] == [" --> a.spec:2:1", "  |", "2 |", "  | ^ expected `}`"]
    empty = Source("b.spec", "")
    start = Label(Span(empty, 0, 0))
    assert render_text(Diagnostic("E0100", "t", (start,))).splitlines()[3:] == ["1 |", "  | ^"]


def test_an_argument_of_the_command_line_is_shown_without_line_numbers() -> None:
    argument = Source("<command line>", "--set mesh.pd=4")
    diagnostic = Diagnostic("E0606", "the spec has no `mesh.pd`", (label(argument, "mesh.pd"),))
    assert render_text(diagnostic).splitlines()[1:] == [
        " --> <command line>",
        "  |",
        "  | --set mesh.pd=4",
        "  |       ^^^^^^^",
    ]


def test_a_finding_without_a_place_has_only_its_notes() -> None:
    diagnostic = Diagnostic("E0301", "t", notes=("n",), helps=helps("h"))
    assert render_text(diagnostic) == "error[E0301]: t\n = note: n\n = help: h"


def test_colours_add_nothing_but_colour() -> None:
    for make, plain in TEXTS.items():
        painted = render_text(make(), color=True)
        assert painted != plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


@pytest.mark.parametrize(
    ("choice", "is_terminal", "environ", "expected"),
    [
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_chosen_by_flag_then_terminal(
    choice: ColorChoice, is_terminal: bool, environ: dict[str, str], expected: bool
) -> None:
    assert wants_color(choice, is_terminal=is_terminal, environ=environ) is expected


# --- summary -------------------------------------------------------------------------------------


def test_the_summary_counts_errors_warnings_and_sure_fixes() -> None:
    error, warning = Diagnostic("E0201", "t"), Diagnostic("E0215", "t", severity="warning")
    assert summary([]) == ""
    assert summary([error]) == "1 error"
    assert summary([warning, error, error]) == "2 errors, 1 warning"
    source = Source("a.spec", "ab")
    way = Help("write `x`", (Edit(at(source, "a"), "x"),), "sure")
    assert summary([Diagnostic("E0201", "t", helps=(way,))]) == (
        "1 error (`specc check --fix` puts 1 right)"
    )


def test_a_whole_report_ends_in_its_summary_and_an_empty_one_is_empty() -> None:
    assert render([]) == ""
    text = render([misspelt_verb(), no_remark()])
    assert text == f"{TEXTS[misspelt_verb]}\n\n{TEXTS[no_remark]}\n\n2 errors\n"


# --- JSON ----------------------------------------------------------------------------------------


def problems(
    value: object, schema: dict[str, Any], root: dict[str, Any], where: str = "$"
) -> list[str]:
    """What does not fit a schema; knows the words that our schema uses and refuses others."""
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, where)
    known = {"description", "type", "enum", "pattern", "minimum", "items", "required", "properties"}
    assert schema.keys() <= known | {"$schema", "$id", "title", "$defs"}, schema.keys() - known
    found = []
    names = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    types = tuple(int if kind == "integer" else names[kind] for kind in kinds)
    if types and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
        return [f"{where} is {value!r}, not {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where} is {value!r}, not one of {schema['enum']}")
    if "pattern" in schema and not re.search(schema["pattern"], str(value)):
        found.append(f"{where} is {value!r}, not {schema['pattern']}")
    if "minimum" in schema and isinstance(value, int) and value < schema["minimum"]:
        found.append(f"{where} is {value}, below {schema['minimum']}")
    if isinstance(value, dict):
        found += [f"{where} lacks {name}" for name in schema["required"] if name not in value]
        undescribed = value.keys() - schema["properties"].keys()
        found += [f"{where}.{name} is not described" for name in undescribed]
        for name, inner in schema["properties"].items():
            found += problems(value[name], inner, root, f"{where}.{name}") if name in value else []
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += problems(each, schema["items"], root, f"{where}[{index}]")
    return found


def with_everything() -> Diagnostic:
    source = Source("中.spec", "dim d = 4\ndim f = dd\n")
    way = Help("did you mean `d`?", (Edit(at(source, "dd"), "d"),), "sure")
    other = label(source, "d", "declared here")
    return Diagnostic(
        "E0201", "unknown `dd`", (label(source, "dd", "not declared"), other), ("n",), (way,),
        "warning", "on musa",
    )  # fmt: skip


@pytest.mark.parametrize("make", [*TEXTS, with_everything, lambda: Diagnostic("E0301", "t")])
def test_json_fits_the_schema_that_is_shipped(make: Make) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    value = json.loads(render([make()], "json"))
    assert problems(value, schema, schema) == []


def test_the_schema_refuses_what_is_wrong() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    value = json.loads(render([with_everything()], "json"))
    value["severity"] = "fatal"
    value["labels"][0]["start"]["line"] = 0
    del value["notes"]
    assert len(problems(value, schema, schema)) == 3


def test_json_positions_count_characters() -> None:
    value = json.loads(render([with_everything()], "json"))
    assert value == {
        "code": "E0201",
        "severity": "warning",
        "title": "unknown `dd`",
        "situation": "on musa",
        "file": "中.spec",
        "labels": [
            {
                "file": "中.spec",
                "start": {"line": 2, "col": 9, "offset": 18},
                "end": {"line": 2, "col": 11, "offset": 20},
                "text": "not declared",
                "primary": True,
            },
            {
                "file": "中.spec",
                "start": {"line": 1, "col": 1, "offset": 0},
                "end": {"line": 1, "col": 2, "offset": 1},
                "text": "declared here",
                "primary": False,
            },
        ],
        "notes": ["n"],
        "help": [
            {
                "text": "did you mean `d`?",
                "edits": [
                    {
                        "file": "中.spec",
                        "start": {"line": 2, "col": 9, "offset": 18},
                        "end": {"line": 2, "col": 11, "offset": 20},
                        "insert": "d",
                    }
                ],
                "applicability": "sure",
            }
        ],
    }


def test_json_has_one_ascii_line_for_each_finding() -> None:
    text = render([with_everything(), misspelt_verb()], "json")
    assert text.isascii()
    assert text.count("\n") == 2
    assert text.endswith("\n")


# --- GitHub --------------------------------------------------------------------------------------


def test_github_annotations_escape_what_would_end_them() -> None:
    source = Source("a,b:c.spec", "x = 100%\n")
    diagnostic = Diagnostic(
        "E0105", "50% unknown", (label(source, "100%", "here"),), ("two\nlines",)
    )
    assert render([diagnostic], "github") == (
        "::error file=a%2Cb%3Ac.spec,line=1,endLine=1,col=5,endColumn=9,title=E0105"
        "::50%25 unknown%0Ahere%0Anote: two%0Alines\n"
    )


def test_github_annotations_without_a_file_have_no_place() -> None:
    argument = Source("<command line>", "--set mesh.pd=4")
    diagnostic = Diagnostic("E0606", "t", (label(argument, "mesh.pd"),), severity="warning")
    assert render_github(diagnostic) == "::warning title=E0606::t"
