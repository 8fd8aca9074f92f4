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
    anchors = [_anchor(line) for line in lines]
    for sort in sorted({anchor.sort for anchor in anchors if anchor}):
        for run in _runs(lines, anchors, sort):
            _align_run(aligned, run)
    return aligned


def _align_run(lines: list[Line], run: Sequence[tuple[int, int]]) -> None:
    """Widen lines so that the lexemes of a run, given as line and index, stand in one column."""
    ends = [_width(_text_before(lines[number], index)) for number, index in run]
    if max(ends) - min(ends) > MAX_SPREAD:
        return
    for (number, index), end in zip(run, ends, strict=True):
        gaps = list(lines[number].gaps)
        gaps[index - 1] = " " * (max(ends) - end + 1)
        lines[number] = attrs.evolve(lines[number], gaps=tuple(gaps))


def _runs(
    lines: Sequence[Line], anchors: Sequence[_Anchor | None], sort: str
) -> Iterator[list[tuple[int, int]]]:
    """Lines of one sort below each other: their number, and the index of what is aligned."""
    run: list[tuple[int, int]] = []
    for number, (line, anchor) in enumerate(zip(lines, anchors, strict=True)):
        above = lines[run[-1][0]] if run else None
        if anchor and anchor.sort == sort and (above is None or _is_beside(above, line)):
            run.append((number, anchor.index))
        elif above is None or not _is_passed_over(above, line, sort):
            if run:
                yield run
            run = [(number, anchor.index)] if anchor and anchor.sort == sort else []
    if run:
        yield run


def _is_beside(above: Line, line: Line) -> bool:
    """Whether two lines lie in the same braces, as far as that can be seen."""
    return (above.indent, above.kind) == (line.indent, line.kind)


def _is_passed_over(above: Line, line: Line, sort: str) -> bool:
    """Whether a run goes on below a line that is not part of it.

    That is what goes on with the statement above, and, between settings of `train`, a rule.
    """
    if not line.code:
        return False
    if line.kind is None:
        return line.indent > above.indent
    is_rule = line.code[0].text in VERBS and not _leaves_brace_open(line)
    return sort == "=" and is_rule and _is_beside(above, line)


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
            return _Anchor(": param" if words[0] in ("param", "buffer") else ":", index + 1)
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
