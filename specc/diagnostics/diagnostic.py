"""Diagnostics as data, and the report that collects them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.source import Span

Severity = Literal["error", "warning"]
Applicability = Literal["sure", "likely", "sketch"]


class SpeccError(Exception):
    """The machine or the command line is wrong: a message with the remedy, and the exit code.

    Args:
        message: what is wrong, then what to do about it.
        exit_code: 2 usage, 3 environment, 4 the run failed.
    """

    def __init__(self, message: str, exit_code: int = 3) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@attrs.frozen
class Label:
    """A short remark at a place; the first label of a diagnostic is its primary one."""

    span: Span
    text: str = ""


@attrs.frozen
class Edit:
    """Replace the characters of `span` by `text`."""

    span: Span
    text: str


@attrs.frozen
class Help:
    """A way out, in the imperative; with `edits` it can be applied, alone if `sure`."""

    text: str
    edits: tuple[Edit, ...] = ()
    applicability: Applicability = "sketch"


@attrs.frozen
class Diagnostic:
    """One finding: what is wrong with both values, where, and how to get out of it.

    Args:
        code: `E0406`; the number has one meaning for ever, the severity is the report's choice.
        title: stands alone; lower case, no full stop, names in backticks.
        labels: places, the primary one first; none for a finding about the whole run.
        situation: where the finding holds, when it does not hold for the plain file.
    """

    code: str
    title: str
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[Help, ...] = ()
    severity: Severity = "error"
    situation: str = ""

    @property
    def identity(self) -> tuple[str, str, str, int, int]:
        """What makes two findings the same one, whatever situation found them."""
        if not self.labels:
            return (self.code, self.title, "", 0, 0)
        span = self.labels[0].span
        return (self.code, self.title, span.source.name, span.start, span.end)


class Report:
    """Collects diagnostics; the same finding at the same place counts once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, int, int], Diagnostic] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep a finding unless it is there already."""
        self._found.setdefault(diagnostic.identity, diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep several findings."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def error(
        self,
        code: str,
        span: Span | None,
        title: str,
        label: str = "",
        *,
        also: Iterable[tuple[Span, str]] = (),
        notes: Iterable[str] = (),
        helps: Iterable[str | Help] = (),
        severity: Severity = "error",
    ) -> None:
        """Keep a finding at `span` with the text of its primary label.

        Args:
            also: further places with their remarks.
            helps: ways out; a plain string is a sketch that nobody applies automatically.
        """
        labels = () if span is None else (Label(span, label), *(Label(s, t) for s, t in also))
        ways = tuple(Help(h) if isinstance(h, str) else h for h in helps)
        self.add(Diagnostic(code, title, labels, tuple(notes), ways, severity))

    def warning(
        self,
        code: str,
        span: Span | None,
        title: str,
        label: str = "",
        *,
        also: Iterable[tuple[Span, str]] = (),
        notes: Iterable[str] = (),
        helps: Iterable[str | Help] = (),
    ) -> None:
        """As `error`, but the run may go on."""
        self.error(
            code, span, title, label, also=also, notes=notes, helps=helps, severity="warning"
        )

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings in the order of their places."""
        return tuple(sorted(self._found.values(), key=_place))

    @property
    def failed(self) -> bool:
        """Whether there is an error among the findings."""
        return any(d.severity == "error" for d in self._found.values())


def _place(diagnostic: Diagnostic) -> tuple[str, int, str]:
    if not diagnostic.labels:
        return ("", 0, diagnostic.code)
    span = diagnostic.labels[0].span
    return (span.source.name, span.start, diagnostic.code)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` most likely misspells, if one is near."""
    found = get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return found[0] if found else None
