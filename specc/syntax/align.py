"""Sets what belongs together in columns: values, parts, rules, one-line blocks, comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import attrs

from specc.diagnostics.display import columns_of
from specc.syntax.lines import Line
from specc.syntax.scan import CLOSERS, OPENERS
from specc.syntax.words import VERBS

MAX_SPREAD = 32
"""Columns that a run may add to its shortest line; beyond that the eye loses the line."""


@attrs.frozen
class _Anchor:
    """Where a line may be widened.

    Args:
        sort: lines with anchors of one sort, one below the other, form a run.
        index: of the lexeme that moves to the column of its run.
    """

    sort: str
    index: int


def align(lines: Sequence[Line]) -> list[Line]:
    """The lines, each run of them with its columns aligned."""
    return _aligned_comments(_aligned_code(lines))


def _aligned_code(lines: Sequence[Line]) -> list[Line]:
    aligned = list(lines)
    for run in _runs(lines):
        ends = [_width(_text_before(lines[number], anchor.index)) for number, anchor in run]
        if max(ends) - min(ends) > MAX_SPREAD:
            continue
        for (number, anchor), end in zip(run, ends, strict=True):
            gap = " " * (max(ends) - end + 1)
            gaps = list(aligned[number].gaps)
            gaps[anchor.index - 1] = gap
            aligned[number] = attrs.evolve(aligned[number], gaps=tuple(gaps))
    return aligned


def _runs(lines: Sequence[Line]) -> Iterator[list[tuple[int, _Anchor]]]:
    """Numbers and anchors of lines that are aligned with each other."""
    run: list[tuple[int, _Anchor]] = []
    for number, line in enumerate(lines):
        anchor = _anchor(line)
        is_same = bool(run and anchor) and _belongs(lines[run[-1][0]], run[-1][1], line, anchor)
        if line.kind is None and line.code and run and line.indent > lines[run[-1][0]].indent:
            continue  # goes on with the statement of the line above
        if not is_same:
            if len(run) > 1:
                yield run
            run = []
        if anchor:
            run.append((number, anchor))
    if len(run) > 1:
        yield run


def _belongs(above: Line, anchor_above: _Anchor, line: Line, anchor: _Anchor | None) -> bool:
    same_place = above.indent == line.indent and above.kind == line.kind
    return anchor is not None and same_place and anchor.sort == anchor_above.sort


def _anchor(line: Line) -> _Anchor | None:
    """Where a line that begins a statement may be widened; None where it may not."""
    if line.kind is None or line.kind == "file" or _leaves_brace_open(line):
        return None
    words = [lexeme.text for lexeme in line.code]
    top = _top_level(words)
    sign, index = next(((words[i], i) for i in top if words[i] in {":", "=", "{"}), ("", 0))
    rest = [words[i] for i in top if i > index]
    match line.kind, sign:
        case "block" | "extern" | "layout", ":" if "=" not in rest and index + 1 < len(words):
            return _Anchor(f": {words[0]}" if words[0] == "param" else ":", index + 1)
        case "train" | "settings" | "axes" | "extern", "=" if "," not in [*words[:index], *rest]:
            return _Anchor("=", index)
        case "layout" | "train" | "settings", "{" if words[-1] == "}":
            return _Anchor("{rule" if words[0] in VERBS else "{", index)
        case _:
            return None


def _top_level(words: Sequence[str]) -> list[int]:
    """Indices of what stands outside all brackets, openers included."""
    found: list[int] = []
    depth = 0
    for index, word in enumerate(words):
        if depth == 0:
            found.append(index)
        depth += (word in OPENERS) - (word in CLOSERS)
    return found


def _leaves_brace_open(line: Line) -> bool:
    words = [lexeme.text for lexeme in line.code]
    return words.count("{") > words.count("}")


def _text_before(line: Line, index: int) -> str:
    """Indentation and code before a lexeme, without the gap."""
    pieces = [
        gap + lexeme.text for gap, lexeme in zip(("", *line.gaps), line.code[:index], strict=False)
    ]
    return "".join([" " * line.indent, *pieces])


def _aligned_comments(lines: Sequence[Line]) -> list[Line]:
    """Comments behind the code of neighbouring lines stand below each other."""
    aligned: list[Line] = []
    for (has_both, _), group in groupby(lines, _comment_column):
        members = list(group)
        if has_both:
            widths = [_width(line.code_text) for line in members]
            members = [
                attrs.evolve(line, comment_gap=" " * (max(widths) - width + 2))
                for line, width in zip(members, widths, strict=True)
            ]
        aligned += members
    return aligned


def _comment_column(line: Line) -> tuple[bool, int]:
    return bool(line.code and line.comment), line.indent


def _width(text: str) -> int:
    """Columns that a text takes on a screen, where Chinese characters take two."""
    return len(text) if text.isascii() else sum(columns_of(char) for char in text)
