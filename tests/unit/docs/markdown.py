"""The pages of the repository and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from tests.repository import ROOT

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)
GENERATED = ("docs/errors/",)  # their examples have tests of their own


@attrs.frozen
class Block:
    """One fenced block.

    Args:
        words: of the line that opens it, the language first.
        line: of its first line of text.
    """

    page: str
    line: int
    words: tuple[str, ...]
    text: str = attrs.field(repr=False)

    @property
    def place(self) -> str:
        """`README.md:12`, for messages and names of tests."""
        return f"{self.page}:{self.line}"

    @property
    def language(self) -> str:
        """`spec`, `bash`, `python`, or empty."""
        return self.words[0] if self.words else ""

    def setting(self, name: str) -> str:
        """The value of `name=value` in the opening line; empty if it is not there."""
        return next((w.partition("=")[2] for w in self.words if w.startswith(f"{name}=")), "")

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Every line with its number in the page."""
        return list(enumerate(self.text.splitlines(), self.line))


def pages() -> tuple[str, ...]:
    """Every page that people write, as a path from the root."""
    found = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
    ]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return tuple(name for name in names if not name.startswith(GENERATED))


def text_of(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, in order."""
    text = text_of(page)
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(page, line, tuple(found["info"].split()), found["text"])


def all_blocks(*languages: str) -> list[Block]:
    """The blocks of all pages in these languages."""
    return [b for page in pages() for b in blocks(page) if b.language in languages]
