"""Versions of packages and of hardware, and ranges of them."""

from __future__ import annotations

import re

import attrs

Version = tuple[int, ...]


def parse_version(text: str) -> Version:
    """`2.9.1.post1+cu128` as (2, 9, 1, 1); such tuples compare as the versions do.

    A development or pre-release version counts as its release: its APIs are those of the release.
    """
    public = text.strip().partition("+")[0]
    numbers = re.match(r"\d+(?:\.\d+)*", public)
    post = re.search(r"\.?post(\d+)", public)
    release = tuple(map(int, numbers[0].split("."))) if numbers else ()
    return (*release, int(post[1])) if post else release


def version_text(version: Version) -> str:
    """(2, 9, 1, 1) as `2.9.1.post1`: what stands fourth is a post release."""
    release = ".".join(map(str, version[:3]))
    return f"{release}.post{version[3]}" if len(version) > 3 else release


@attrs.frozen
class Range:
    """Versions from `at_least` on and before `below`; None leaves that end open."""

    at_least: Version | None = None
    below: Version | None = None

    def __contains__(self, version: Version) -> bool:
        low = self.at_least is None or version >= self.at_least
        return low and (self.below is None or version < self.below)

    def __bool__(self) -> bool:
        """Whether any version is left out."""
        return self.at_least is not None or self.below is not None

    @property
    def text(self) -> str:
        """`2.9.0 or newer`, `before 2.8.0`, `2.7.1 to before 2.11.0`."""
        if self.below is None:
            return f"{version_text(self.at_least)} or newer" if self.at_least else "any version"
        before = f"before {version_text(self.below)}"
        return f"{version_text(self.at_least)} to {before}" if self.at_least else before


ANY = Range()
