"""Source lines with their labels drawn below them."""

from __future__ import annotations

import attrs

from specc.diagnostics.diagnostic import Label
from specc.diagnostics.display import CUT, Row, displayed, harmless, painted, part_to_show
from specc.source import Source

COMMAND_LINE = "<command line>"


@attrs.frozen
class Paper:
    """How an excerpt is drawn.

    Args:
        width: columns of source text; a longer line is cut around its labels.
        gutter: columns of the widest line number.
        severity: the style of the primary label.
    """

    width: int
    gutter: int
    severity: str
    color: bool

    def margin(self, number: str = "") -> str:
        """What stands left of a line: its number and a bar."""
        return painted(f"{number:>{self.gutter}} |", "gutter", color=self.color)


@attrs.frozen
class Mark:
    """A label on one line, in columns of the line as shown."""

    start: int
    end: int
    text: str
    primary: bool


def gutter_width(labels: tuple[Label, ...]) -> int:
    """Columns of the widest line number that the labels need."""
    return max(len(str(label.span.line)) for label in labels)


def excerpt(labels: tuple[Label, ...], paper: Paper) -> list[str]:
    """The lines of all labels, the file of the primary label first.

    Args:
        labels: at least one; the first is the primary one.
    """
    primary = labels[0]
    files: dict[Source, list[Label]] = {}
    for label in labels:
        files.setdefault(label.span.source, []).append(label)
    drawn: list[str] = []
    for source, in_file in files.items():
        if drawn:
            drawn.append(paper.margin())
        arrow = ":::" if drawn else "-->"
        place = _place(in_file[0], source)
        drawn.append(
            " " * paper.gutter + painted(arrow, "gutter", color=paper.color) + f" {harmless(place)}"
        )
        drawn.append(paper.margin())
        drawn += _file_lines(source, in_file, primary, paper)
    return drawn


def _place(label: Label, source: Source) -> str:
    if source.name == COMMAND_LINE:
        return source.name
    line, column = source.position(label.span.start)
    return f"{source.name}:{line}:{column}"


def _file_lines(source: Source, labels: list[Label], primary: Label, paper: Paper) -> list[str]:
    by_line: dict[int, list[Label]] = {}
    for label in labels:
        by_line.setdefault(label.span.line, []).append(label)
    drawn: list[str] = []
    previous = 0
    for number in sorted(by_line):
        if previous and number > previous + 1:
            drawn.append(painted(CUT, "gutter", color=paper.color))
        drawn += _marked_line(source, number, by_line[number], primary, paper)
        previous = number
    return drawn


def _marked_line(
    source: Source, number: int, labels: list[Label], primary: Label, paper: Paper
) -> list[str]:
    """One line, cut around its labels if it is long, and the rows below it."""
    text = source.line(number)
    labels = sorted(labels, key=lambda label: label is not primary)
    places = [_place_on_line(label, text) for label in labels]
    low, high = part_to_show(text, places, paper.width)
    before, behind = CUT if low else "", CUT if high < len(text) else ""
    line = displayed(text[low:high])
    columns = [[line.columns[min(max(at, low), high) - low] for at in place] for place in places]
    marks = [
        Mark(start + len(before), max(end, start + 1) + len(before), label.text, label is primary)
        for label, (start, end) in zip(labels, columns, strict=True)
    ]
    shown_number = "" if source.name == COMMAND_LINE else str(number)
    rows = [row.finished(color=paper.color) for row in _rows(marks, paper.severity)]
    drawn = f"{paper.margin(shown_number)} {before}{line.text}{behind}".rstrip()
    return [drawn, *(f"{paper.margin()} {row}" for row in rows)]


def _place_on_line(label: Label, text: str) -> tuple[int, int]:
    """Characters of the first line of a label; one that goes on below ends where the text does."""
    source = label.span.source
    number, column = source.position(label.span.start)
    end_number, end_column = source.position(label.span.end)
    first = min(column - 1, len(text))
    after = end_column - 1 if end_number == number else len(text.rstrip())
    return first, max(first, min(after, len(text)))


def _rows(marks: list[Mark], severity: str) -> list[Row]:
    """The underlines, the text of the last label beside them, the other texts hanging below."""
    underlines = Row()
    for mark in sorted(marks, key=lambda mark: mark.primary):  # the primary one on top
        char, style = ("^", severity) if mark.primary else ("-", "gutter")
        underlines.put(mark.start, char * (mark.end - mark.start), style)
    hanging = sorted((mark for mark in marks if mark.text), key=lambda mark: (mark.start, mark.end))
    if hanging and all(mark.end <= hanging[-1].start for mark in marks if mark is not hanging[-1]):
        beside = hanging.pop()
        underlines.put(underlines.width + 1, harmless(beside.text), _style(beside, severity))
    rows = [underlines]
    if hanging:
        rows.append(_bars(hanging, severity))
    while hanging:
        lowest = hanging.pop()
        row = _bars(hanging, severity)
        row.put(lowest.start, harmless(lowest.text), _style(lowest, severity))
        rows.append(row)
    return rows


def _bars(marks: list[Mark], severity: str) -> Row:
    row = Row()
    for mark in marks:
        row.put(mark.start, "|", _style(mark, severity))
    return row


def _style(mark: Mark, severity: str) -> str:
    return severity if mark.primary else "gutter"
