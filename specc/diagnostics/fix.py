"""Applies the edits that are sure, for `check --fix`: whole files or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from specc.diagnostics.diagnostic import Diagnostic, Edit, SpeccError
from specc.diagnostics.render import is_sure
from specc.source import Source

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@attrs.frozen
class Fixed:
    """What sure edits make of the sources.

    Args:
        texts: the new text of every source that changes.
        applied: findings that are put right.
        refused: findings whose edits meet those of another one, or lie outside a file; what is
            left of them shows when the new text is checked.
    """

    texts: tuple[tuple[Source, str], ...]
    applied: tuple[Diagnostic, ...]
    refused: tuple[Diagnostic, ...]


def fixed(diagnostics: Iterable[Diagnostic]) -> Fixed:
    """The sources with all sure edits applied; nothing is written.

    The edits of one finding are applied together or not at all. Of two findings whose edits meet,
    the one that comes first wins; equal edits count as one.
    """
    accepted: dict[str, list[Edit]] = {}
    sources: dict[str, Source] = {}
    applied: list[Diagnostic] = []
    refused: list[Diagnostic] = []
    for diagnostic in diagnostics:
        way = next((way for way in diagnostic.helps if is_sure(way)), None)
        if way is None:
            continue
        if any(_is_in_the_way(edit, accepted.get(edit.span.source.name, [])) for edit in way.edits):
            refused.append(diagnostic)
            continue
        applied.append(diagnostic)
        for edit in way.edits:
            sources[edit.span.source.name] = edit.span.source
            edits = accepted.setdefault(edit.span.source.name, [])
            if not any(_is_same(edit, other) for other in edits):
                edits.append(edit)
    texts = tuple((sources[name], edited(sources[name].text, accepted[name])) for name in accepted)
    return Fixed(texts, tuple(applied), tuple(refused))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Text after edits that do not meet each other."""
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _is_in_the_way(edit: Edit, others: Iterable[Edit]) -> bool:
    if edit.span.source.name.startswith("<"):  # standard input or the command line
        return True
    return any(_meets(edit, other) and not _is_same(edit, other) for other in others)


def _meets(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters, or insert at the same place."""
    if one.span.start == other.span.start:
        return True
    first, second = sorted((one.span, other.span), key=lambda span: span.start)
    return second.start < first.end


def _is_same(one: Edit, other: Edit) -> bool:
    one_place, other_place = (one.span.start, one.span.end), (other.span.start, other.span.end)
    return one_place == other_place and one.text == other.text


# --- files --------------------------------------------------------------------------------------


def write(texts: Iterable[tuple[Source, str]]) -> None:
    """Write new texts over their files: all of them or, when one cannot be written, none.

    Links, permissions, the byte-order mark and the line ends of a file stay as they are.

    Raises:
        SpeccError: if a file has changed since it was checked, or cannot be written.
    """
    contents = {
        Path(source.name).resolve(): _encoded(source, text)  # through links
        for source, text in texts
    }
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            staged[path] = _staged(path, content)
        _replace(staged)
    except OSError as error:
        raise SpeccError(f"{_why(error)}; no file is changed") from error
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


def _why(error: OSError) -> str:
    return f"cannot write {error.filename}: {error.strerror}"


def _encoded(source: Source, text: str) -> bytes:
    try:
        before = Path(source.name).read_bytes()
    except OSError as error:
        raise SpeccError(f"{_why(error)}; no file is changed") from error
    mark = BYTE_ORDER_MARK if before.startswith(BYTE_ORDER_MARK) else b""
    for line_end in ("\n", "\r\n"):
        as_before = source.text.replace("\n", line_end).encode()
        if mark + as_before == before:
            return mark + text.replace("\n", line_end).encode()
    raise SpeccError(f"{source.name} has changed since it was checked; no file is changed")


def _staged(path: Path, content: bytes) -> Path:
    """A file beside `path` with its new content and its permissions."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o7777)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _replace(staged: Mapping[Path, Path]) -> None:
    """Rename every staged file over its own; put the old content back when one fails."""
    before: dict[Path, bytes] = {}
    try:
        for path, temporary in staged.items():
            content = path.read_bytes()
            temporary.replace(path)
            before[path] = content
    except OSError:
        for path, content in before.items():
            path.write_bytes(content)
        raise
