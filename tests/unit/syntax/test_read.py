"""Files become text, or a finding that says why not."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from specc.diagnostics import Diagnostic
from specc.source import Source
from specc.syntax.read import MAX_BYTES, decode_source, read_source


def refused(content: bytes) -> Diagnostic:
    found = decode_source(content, "a.spec")
    assert isinstance(found, tuple)
    (diagnostic,) = found
    return diagnostic


def test_a_file_is_read_under_the_name_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "a.spec"
    path.write_bytes("dim d = 4  # 中文\r\n".encode())
    assert read_source(path) == Source(str(path), "dim d = 4  # 中文\r\n")
    assert read_source(path, "shown.spec") == Source("shown.spec", "dim d = 4  # 中文\r\n")


def test_the_mark_of_utf8_is_no_part_of_the_text() -> None:
    assert decode_source(codecs.BOM_UTF8 + b"dim d = 4", "a") == Source("a", "dim d = 4")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_other_encodings_of_unicode_are_named(encoding: str) -> None:
    mark = b"" if encoding in ("utf-16", "utf-32") else "\ufeff".encode(encoding)
    diagnostic = refused(mark + "dim d = 4".encode(encoding))
    assert diagnostic.code == "E0113"
    assert diagnostic.title == f"this file is {encoding[:6].upper()}, not UTF-8"


@pytest.mark.parametrize(
    ("content", "line", "column", "byte"),
    [
        ("# 中文".encode("gbk"), 1, 3, "D6"),
        (b"dim d = 4\n# caf\xe9 au lait", 2, 6, "E9"),
        (b"# \xf0\x9f\x98", 1, 3, "F0"),
        (b"\xc0\xaf", 1, 1, "C0"),
        ("# 中文 ".encode() + b"\xff", 1, 6, "FF"),
    ],
)
def test_the_first_byte_that_is_no_text_is_pointed_at(
    content: bytes, line: int, column: int, byte: str
) -> None:
    diagnostic = refused(content)
    assert (diagnostic.code, diagnostic.title) == ("E0113", "this file is not UTF-8")
    (label,) = diagnostic.labels
    assert label.span.source.position(label.span.start) == (line, column)
    assert label.text == f"the byte 0x{byte} begins no character here"


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "large.spec"
    with path.open("wb") as file:
        file.truncate(10 * MAX_BYTES)
    found = read_source(path)
    assert isinstance(found, tuple)
    assert [diagnostic.code for diagnostic in found] == ["E0117"]


def test_a_file_of_2_mb_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.spec"
    path.write_bytes(b"#" * MAX_BYTES)
    assert isinstance(read_source(path), Source)


def test_an_absent_file_is_the_affair_of_who_asked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_source(tmp_path / "absent.spec")
    with pytest.raises(IsADirectoryError):
        read_source(tmp_path)
