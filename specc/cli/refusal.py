"""A spec that a verb cannot use."""

from __future__ import annotations

FOUND = 1
"""Exit code where something was found."""


class Faulty(Exception):  # noqa: N818  no error of ours: the findings have been told
    """The spec has findings that forbid its use; they have been told."""
