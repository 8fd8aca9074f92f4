"""`specc explain CODE`, on pages made for these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from specc.diagnostics import SpeccError
from specc.diagnostics.explain import explain
from specc.diagnostics.page import Example, codes, page
from specc.diagnostics.pages import documents, main, stale

PAGE = """\
# {code}: {title}

## What it means
Text.

## Example
```spec
#: check --target musa --set mesh.dp=4
from "lib/x.spec" use Block
#: file lib/x.spec
block Block {{ }}
```

## Use instead
```spec
ok
```
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    titles = {"E0406": "a dim does not divide", "E0407": "rules | disagree", "E0201": "a name"}
    for code, title in titles.items():
        text = PAGE.format(code=code, title=title)
        (tmp_path / f"{code}.md").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("code", ["E0406", "e0406", "W0406", "406", "[E0406]", " E0406 "])
def test_a_code_may_be_written_in_several_ways(folder: Path, code: str) -> None:
    assert explain(code, folder).startswith("# E0406: a dim does not divide\n")


def test_an_unknown_code_names_those_that_are_near(folder: Path) -> None:
    with pytest.raises(SpeccError) as raised:
        explain("E0409", folder)
    assert str(raised.value).splitlines() == [
        "there is no code `E0409`; did you mean one of these?",
        "  E0406  a dim does not divide",
        "  E0407  rules | disagree",
    ]
    assert raised.value.exit_code == 2


def test_a_word_finds_the_titles_that_have_it(folder: Path) -> None:
    with pytest.raises(SpeccError, match="E0406  a dim does not divide"):
        explain("divide", folder)


@pytest.mark.parametrize("nonsense", ["", "zebra", "../../etc/passwd", "E99999"])
def test_nonsense_gets_the_form_of_a_code(folder: Path, nonsense: str) -> None:
    with pytest.raises(SpeccError, match="codes look like `E0406`"):
        explain(nonsense, folder)


def test_a_page_is_taken_apart(folder: Path) -> None:
    one = page("E0406", folder)
    assert one.title == "a dim does not divide"
    assert [heading for heading, _ in one.sections] == ["What it means", "Example", "Use instead"]
    flags = ("--target", "musa", "--set", "mesh.dp=4")
    files = (("run.spec", 'from "lib/x.spec" use Block\n'), ("lib/x.spec", "block Block { }\n"))
    assert one.example == Example(flags, files, runs=True)
    assert one.instead == Example(flags, (("run.spec", "ok\n"),), runs=True)


def test_documents_are_an_index_and_one_page_for_each_code(folder: Path, tmp_path: Path) -> None:
    written = documents(folder)
    assert sorted(written) == ["E0201.md", "E0406.md", "E0407.md", "index.md"]
    assert "| [E0407](E0407.md) | rules \\| disagree |" in written["index.md"]
    assert written["index.md"].index("Names and shapes") < written["index.md"].index("E0406")
    target = tmp_path / "out"
    target.mkdir()
    assert stale(target, folder) == sorted(written)


def test_the_generator_writes_missing_pages_and_removes_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "docs" / "errors"
    assert main([str(target)]) == 0
    (target / "E9999.md").write_text("gone\n", encoding="utf-8")
    (target / f"{codes()[0]}.md").write_text("changed\n", encoding="utf-8")
    assert stale(target) == sorted(["E9999.md", f"{codes()[0]}.md"])
    assert main([str(target)]) == 0
    assert stale(target) == []
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
