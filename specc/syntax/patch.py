"""A text with some characters replaced, that knows where each of its places was before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import attrs


class Cut(NamedTuple):
    """Put `text` in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


@attrs.frozen
class Patched:
    """The text after some cuts.

    Args:
        starts: offsets in `text` of the pieces it is made of, ascending from 0.
        origins: for each piece, the offset in the unpatched text.
        limits: for each piece, the offset in the unpatched text that it never goes beyond.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    limits: tuple[int, ...]

    def origin(self, offset: int) -> int:
        """Where a place of the patched text was in the unpatched one."""
        piece = bisect_right(self.starts, offset) - 1
        return min(self.origins[piece] + offset - self.starts[piece], self.limits[piece])

    def moved(self, offset: int) -> int:
        """Where a place of the unpatched text is now; the start of what replaces it."""
        piece = bisect_left(self.origins, offset)
        if piece == len(self.origins) or self.origins[piece] != offset:
            piece -= 1
        following = piece + 1
        end = self.starts[following] if following < len(self.starts) else len(self.text)
        return min(self.starts[piece] + offset - self.origins[piece], end)


def patched(text: str, cuts: Iterable[Cut]) -> Patched:
    """The text with cuts applied; a cut that overlaps an earlier one is left out."""
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    limits: list[int] = []
    length, done = 0, 0

    def add(piece: str, origin: int, limit: int) -> None:
        nonlocal length
        pieces.append(piece)
        starts.append(length)
        origins.append(origin)
        limits.append(limit)
        length += len(piece)

    for cut in sorted(cuts):
        if cut.start < done:
            continue
        add(text[done : cut.start], done, cut.start)
        add(cut.text, cut.start, cut.end)
        done = cut.end
    add(text[done:], done, len(text))
    return Patched("".join(pieces), tuple(starts), tuple(origins), tuple(limits))
