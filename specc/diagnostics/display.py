"""How text looks in a terminal: columns, not characters, and nothing that acts on it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby

import attrs

TAB_STOP = 4
CUT = "..."
FEW = 4  # characters looked at for each column: some take none

# Select Graphic Rendition, ECMA-48 (5th edition) section 8.3.117.
COLORS = {
    "error": "1;31",
    "warning": "1;33",
    "gutter": "1;34",
    "strong": "1",
    "help": "1;32",
}


def painted(text: str, style: str, *, color: bool) -> str:
    """Text in the colour of `style`; unchanged without colour or without a style."""
    if not color or not text or not style:
        return text
    return f"\x1b[{COLORS[style]}m{text}\x1b[0m"


def columns_of(char: str) -> int:
    """Columns of a terminal that one character takes: 0, 1 or 2.

    Source: Unicode Standard Annex 11, East Asian Width; ambiguous characters count as narrow.
    """
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def harmless(text: str) -> str:
    """Text in which control and format characters are spelled out.

    A spec comes from strangers: its text must neither move the cursor nor reorder what people read.
    """
    return "".join(_spelled(char) for char in text)


def _spelled(char: str) -> str:
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return f"<U+{ord(char):04X}>"
    return char


def part_to_show(text: str, places: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """The characters of a line that are shown: all of them if they fit, else those at its places.

    The work is bounded by the width, not by the line, which may be a whole file.

    Args:
        places: first and last + 1 character; if not all fit, the first place is shown.
        width: columns.
    """
    low, high = min(first for first, _ in places), max(after for _, after in places)
    count, used = _fitting(text[low : min(high, low + FEW * width)], width)
    if low + count < high:
        low = places[0][0]
        count, used = _fitting(text[low : min(places[0][1], low + FEW * width)], width)
        high = low + count
    room = width - used
    left, used = _fitting(text[max(0, low - FEW * width) : low][::-1], room // 2)
    low, room = low - left, room - used
    right, used = _fitting(text[high : high + FEW * width], room)
    high, room = high + right, room - used
    left, _ = _fitting(text[max(0, low - FEW * width) : low][::-1], room)
    return low - left, high


def _fitting(text: str, room: int) -> tuple[int, int]:
    """How many characters fit into so many columns, and the columns they take."""
    used = 0
    for count, char in enumerate(text):
        more = TAB_STOP if char == "\t" else sum(map(columns_of, _spelled(char)))
        if used + more > room:
            return count, used
        used += more
    return len(text), used


@attrs.frozen
class Line:
    """A part of a source line as shown, with the column where each of its characters begins.

    Args:
        text: tabs expanded, control characters spelled out.
        columns: of every character of the source, then the width of the whole.
    """

    text: str
    columns: tuple[int, ...]


def displayed(source_line: str) -> Line:
    """The line, or a part of it, as a terminal shows it."""
    shown: list[str] = []
    columns = [0]
    for char in source_line:
        at = columns[-1]
        piece = " " * (TAB_STOP - at % TAB_STOP) if char == "\t" else _spelled(char)
        shown.append(piece)
        columns.append(at + sum(map(columns_of, piece)))
    return Line("".join(shown), tuple(columns))


class Row:
    """One line under construction: characters at columns, each with a style."""

    def __init__(self) -> None:
        self._cells: list[tuple[str, str]] = []

    @property
    def width(self) -> int:
        """Columns in use."""
        return len(self._cells)

    def put(self, column: int, text: str, style: str) -> None:
        """Write narrow `text` from `column` on, over what is there."""
        missing = column + len(text) - len(self._cells)
        self._cells.extend([(" ", "")] * max(missing, 0))
        for offset, char in enumerate(text):
            self._cells[column + offset] = (char, style)

    def finished(self, *, color: bool) -> str:
        """The line with its colours, without spaces at its end."""
        runs: list[str] = []
        for style, cells in groupby(self._cells, key=lambda cell: cell[1]):
            runs.append(painted("".join(char for char, _ in cells), style, color=color))
        return "".join(runs).rstrip()
