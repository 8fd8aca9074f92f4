"""Reads a spec from a file, as text."""

from __future__ import annotations

import codecs
from pathlib import Path

from specc.diagnostics import Diagnostic, Report
from specc.source import Source, Span

MAX_BYTES = 2_000_000
"""A spec is written by people; the largest known ones have some thousand bytes."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_source(path: Path, name: str | None = None) -> Source | tuple[Diagnostic, ...]:
    """The text of a file, or what keeps it from being text.

    Args:
        name: what messages call the file; the path as given by default.

    Raises:
        OSError: if the file cannot be read.
    """
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    return decode_source(content, str(path) if name is None else name)


def decode_source(content: bytes, name: str) -> Source | tuple[Diagnostic, ...]:
    """The text of bytes in UTF-8, without a byte-order mark, or what keeps them from being text."""
    report = Report()
    if len(content) > MAX_BYTES:
        report_size(name, report)
        return report.diagnostics
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            report.error(
                "E0113",
                Span(Source(name, ""), 0, 0),
                f"this file is {encoding}, not UTF-8",
                "begins with a mark of that encoding",
                helps=("save it as UTF-8",),
            )
            return report.diagnostics
    try:
        return Source(name, content.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError as stop:
        _report_encoding(stop, name, report)
    return report.diagnostics


def _report_encoding(stop: UnicodeDecodeError, name: str, report: Report) -> None:
    """Point at the first byte that is not UTF-8, in what can be read of the text."""
    before = stop.object[: stop.start].decode()
    source = Source(name, before + stop.object[stop.start :].decode(errors="replace"))
    byte = stop.object[stop.start]
    report.error(
        "E0113",
        Span(source, len(before), len(before) + 1),
        "this file is not UTF-8",
        f"the byte 0x{byte:02X} begins no character here",
        helps=("save it as UTF-8; GBK and Latin-1 are not read",),
    )


def report_size(name: str, report: Report) -> None:
    """Report a file that is too large to be a spec."""
    report.error(
        "E0117",
        Span(Source(name, ""), 0, 0),
        f"this file is larger than {MAX_BYTES // 1_000_000} MB",
        "not read",
        helps=("a spec holds no data; blocks can be brought in with `from`",),
    )
