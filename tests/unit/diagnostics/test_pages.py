"""Every code has a page, every page's examples do what it says, every message names real verbs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from specc.diagnostics import page as pages_module
from specc.diagnostics.page import FAMILIES, SECTIONS, Example, codes, page
from specc.diagnostics.pages import stale
from tests.checking import check, run_cli

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "specc"
DOCS = ROOT / "docs" / "errors"
CODES = codes()


@cache
def strings() -> tuple[tuple[str, str], ...]:
    """Place and value of every string in the package's source that is no docstring."""
    found: list[tuple[str, str]] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        docstrings = {id(node.value) for node in statements}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in docstrings:
                continue
            if isinstance(node.value, str):
                found.append((f"{path.relative_to(ROOT)}:{node.lineno}", node.value))
    return tuple(found)


def used_codes() -> dict[str, str]:
    """The codes that the source names as whole strings, with a place of each."""
    return {text: place for place, text in strings() if re.fullmatch(r"E\d{4}", text)}


# --- pages and source ----------------------------------------------------------------------------


def test_every_code_in_the_source_has_a_page() -> None:
    missing = {code: place for code, place in used_codes().items() if code not in CODES}
    assert missing == {}


def test_every_page_is_of_a_code_that_the_source_reports() -> None:
    assert sorted(set(CODES) - used_codes().keys()) == []


def test_the_documentation_has_the_pages_as_they_are() -> None:
    if not DOCS.exists():
        pytest.skip("docs/errors is written when the codes are settled")
    assert stale(DOCS) == [], "run: python -m specc.diagnostics.pages docs/errors"


# --- form ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_its_headings_in_order_and_plain_ascii(code: str) -> None:
    one = page(code)
    headings = [heading for heading, _ in one.sections]
    assert [heading for heading in SECTIONS if heading in headings] == headings
    assert headings[:4] == list(SECTIONS[:4])
    assert all(text for _, text in one.sections)
    assert one.title
    assert one.title == one.title[0].lower() + one.title[1:] or one.title.startswith("`")
    assert not one.title.endswith(".")
    assert one.text.isascii()
    assert code[:3] in FAMILIES
    assert max(map(len, one.text.splitlines())) <= 120


@pytest.mark.parametrize("code", CODES)
def test_the_specs_of_a_page_are_complete_files(code: str) -> None:
    one = page(code)
    for example in (one.example, one.instead):
        assert example.files or "not run" in one.section("Example"), "no ```spec block"


def test_files_in_the_folder_are_pages() -> None:
    files = sorted(path.name for path in pages_module.CODES.iterdir())
    assert files == [f"{code}.md" for code in CODES]


# --- examples ------------------------------------------------------------------------------------


def found(example: Example, folder: Path) -> dict[str, str]:
    """Code and severity of each finding."""
    return {
        finding["code"]: finding["severity"]
        for finding in check(example.files, example.flags, folder)
    }


@pytest.mark.parametrize("code", [code for code in CODES if page(code).example.runs])
def test_the_example_has_the_code_and_nothing_else(code: str, tmp_path: Path) -> None:
    assert set(found(page(code).example, tmp_path)) == {code}


@pytest.mark.parametrize("code", [code for code in CODES if page(code).instead.runs])
def test_the_example_put_right_has_no_error(code: str, tmp_path: Path) -> None:
    severities = found(page(code).instead, tmp_path)
    assert code not in severities
    assert "error" not in severities.values()


# --- verbs ---------------------------------------------------------------------------------------


def named_verbs() -> dict[str, str]:
    """The verbs that messages and pages tell people to type, with a place of each."""
    texts = [*strings(), *((f"{code}.md", page(code).text) for code in CODES)]
    return {
        match[1]: place
        for place, text in texts
        for match in re.finditer(r"`specc ([a-z]+)\b(?! \d)", text)
    }


def test_messages_name_only_verbs_of_the_command_line() -> None:
    wrong = {
        verb: place for verb, place in named_verbs().items() if run_cli([verb, "--help"])[0] != 0
    }
    assert wrong == {}
