"""The page of every code, `codes/E....md`: its meaning, a spec that has it, the spec put right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import attrs

CODES = Path(__file__).resolve().parent / "codes"

SECTIONS = ("What it means", "Why it matters", "Example", "Use instead", "Source")
FAMILIES = {
    "E01": "Text and literals",
    "E02": "Names and shapes",
    "E03": "Mesh",
    "E04": "Layout and precision",
    "E05": "Externs",
    "E06": "Settings and overrides",
    "E07": "Memory, hardware and targets",
}


@attrs.frozen
class Example:
    """A spec of a page.

    Args:
        flags: arguments of `specc check` after the file.
        files: name and text, the file to check first.
        runs: false where the finding needs a machine or a package that a test has not.
    """

    flags: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    runs: bool


@attrs.frozen
class Page:
    """One code explained.

    Args:
        title: what the finding says, without the values.
        sections: text by heading, in the order of the page.
        text: the whole page in Markdown.
    """

    code: str
    title: str
    sections: tuple[tuple[str, str], ...]
    text: str

    def section(self, heading: str) -> str:
        """Text below a heading; empty if the page has no such heading."""
        return dict(self.sections).get(heading, "")

    @property
    def example(self) -> Example:
        """The spec that gives the code."""
        return _example(self.section("Example"))

    @property
    def instead(self) -> Example:
        """The spec put right; the flags of the example hold for it unless it has its own."""
        right, wrong = _example(self.section("Use instead")), self.example
        return attrs.evolve(right, flags=right.flags or wrong.flags)


def codes(folder: Path = CODES) -> tuple[str, ...]:
    """All codes that have a page, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("E[0-9][0-9][0-9][0-9].md")))


def page(code: str, folder: Path = CODES) -> Page:
    """The page of a code.

    Raises:
        FileNotFoundError: if no page has this code.
    """
    text = (folder / f"{code}.md").read_text(encoding="utf-8")
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    title = head.strip().removeprefix(f"# {code}: ")
    sections = tuple(_section(part) for part in parts)
    return Page(code, title, sections, text)


def _section(part: str) -> tuple[str, str]:
    heading, _, body = part.partition("\n")
    return heading.strip(), body.strip()


def _example(section: str) -> Example:
    block = re.search(r"^```spec\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    lines = block[1].splitlines(keepends=True) if block else []
    flags: tuple[str, ...] = ()
    runs = bool(block)
    files: dict[str, str] = {}
    name = "run.spec"
    for line in lines:
        word, _, rest = line.removeprefix("#: ").strip().partition(" ")
        if not line.startswith("#: "):
            files[name] = files.get(name, "") + line
        elif word == "file":
            name = rest
        elif word == "check":
            flags = tuple(shlex.split(rest))
        elif word == "not":
            runs = False
    return Example(flags, tuple(files.items()), runs)
