"""Source text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import attrs


@attrs.frozen(slots=False)
class Source:
    """The text of one file, or of one command-line argument, under the name shown to people.

    Args:
        name: path as the user gave it (relative stays relative), `<stdin>` or `<command line>`.
        text: decoded text without a byte-order mark.
    """

    name: str
    text: str = attrs.field(repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offset of the first character of every line."""
        starts = [0]
        for index, char in enumerate(self.text):
            if char == "\n":
                starts.append(index + 1)
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1, in characters."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Text of line `number` (from 1) without its line end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@attrs.frozen(eq=False, repr=False)
class Span:
    """A half-open range of characters of a source; what carries one is equal without it."""

    source: Source
    start: int
    end: int

    def __repr__(self) -> str:
        return f"<{self.place}>"

    @property
    def text(self) -> str:
        """The characters of the range."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """Line of the first character, from 1."""
        return self.source.position(self.start)[0]

    @property
    def place(self) -> str:
        """`file:line` as scripts and messages cite it."""
        return f"{self.source.name}:{self.line}"

    def to(self, other: Span) -> Span:
        """The range from the start of this one to the end of `other`."""
        return Span(self.source, self.start, other.end)
