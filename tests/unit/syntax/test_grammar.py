"""The grammar has no conflicts, and the compiled one is kept where that is possible."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from lark import Lark, Tree, logger

from specc.resources import grammar_text
from specc.syntax import grammar


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder of its own, and a parser not yet made."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    grammar.parser.cache_clear()
    yield tmp_path
    grammar.parser.cache_clear()


def kept(home: Path) -> list[Path]:
    return sorted((home / ".cache" / "specc").iterdir())


def parses() -> bool:
    return isinstance(grammar.parser().parse("dim d = 4\n"), Tree)


def test_the_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=logger.name):
        Lark(
            grammar_text(),
            parser="lalr",
            lexer="contextual",
            postlex=grammar.LineEnds(),
            debug=True,
        )
    assert [record for record in caplog.records if "onflict" in record.getMessage()] == []


def test_the_check_for_conflicts_finds_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=logger.name):
        Lark('start: a\na: "x" | "if" a | "if" a "else" a\n', parser="lalr", debug=True)
    assert any("onflict" in record.getMessage() for record in caplog.records)


def test_no_two_terminals_match_the_same_text() -> None:
    assert grammar.make_parser(grammar_text(), strict=True)


def test_the_compiled_grammar_is_kept_and_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parses()
    (path,) = kept(home)
    assert path.name.startswith("grammar-")
    grammar.parser.cache_clear()
    monkeypatch.setattr(grammar, "make_parser", None)
    assert parses()
    assert kept(home) == [path]


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps({"data": 3}), b"\x80\x04"])
def test_a_broken_file_is_replaced(home: Path, content: bytes) -> None:
    assert parses()
    (path,) = kept(home)
    path.write_bytes(content)
    grammar.parser.cache_clear()
    assert parses()
    assert path.stat().st_size > 1000


def test_half_a_file_is_replaced(home: Path) -> None:
    assert parses()
    (path,) = kept(home)
    path.write_bytes(path.read_bytes()[:1000])
    grammar.parser.cache_clear()
    assert parses()
    assert path.stat().st_size > 1000


def test_another_grammar_has_another_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parses()
    grammar.parser.cache_clear()
    monkeypatch.setattr(grammar, "grammar_text", lambda: grammar_text() + "\n// another\n")
    assert parses()
    assert len(kept(home)) == 2


def test_a_folder_that_cannot_be_written_does_not_matter(home: Path) -> None:
    (home / ".cache").write_text("a file in the place of the folder")
    assert parses()


def test_a_file_that_cannot_be_finished_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Lark, "save", full)
    assert parses()
    assert kept(home) == []


def test_no_home_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert parses()
