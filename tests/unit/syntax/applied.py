"""Applies the fixes of findings to a text, as `specc check --fix` does."""

from __future__ import annotations

from collections.abc import Iterable

from specc.diagnostics import Diagnostic
from specc.syntax.patch import Cut, patched


def applied(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """The text after every edit that is marked as sure."""
    edits = [
        edit
        for diagnostic in diagnostics
        for way in diagnostic.helps
        if way.applicability == "sure"
        for edit in way.edits
    ]
    cuts = (Cut(edit.span.start, edit.span.end, edit.text) for edit in edits)
    return patched(text, cuts).text
