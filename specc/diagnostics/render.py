"""Diagnostics as text with carets, as JSON lines and as annotations of GitHub."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from specc.diagnostics.diagnostic import Diagnostic, Edit, Help, Label
from specc.diagnostics.display import harmless, painted
from specc.diagnostics.excerpt import COMMAND_LINE, Paper, excerpt, gutter_width
from specc.source import Source, Span

Format = Literal["text", "json", "github"]
ColorChoice = Literal["auto", "always", "never"]

WIDTH = 120  # columns of source text before a line is cut around its labels


def wants_color(choice: ColorChoice, *, is_terminal: bool, environ: Mapping[str, str]) -> bool:
    """Whether to paint: `auto` paints on a terminal that can, unless NO_COLOR is set.

    Source: https://no-color.org
    """
    if choice != "auto":
        return choice == "always"
    return is_terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def render(diagnostics: Sequence[Diagnostic], form: Format = "text", *, color: bool = False) -> str:
    """All findings, each line ended; the empty string for none.

    Text ends in the summary line. JSON and GitHub have one line for each finding and nothing else.
    """
    if not diagnostics:
        return ""
    if form == "json":
        return "".join(f"{render_json(d)}\n" for d in diagnostics)
    if form == "github":
        return "".join(f"{render_github(d)}\n" for d in diagnostics)
    texts = [render_text(d, color=color) for d in diagnostics]
    return "\n\n".join([*texts, painted(summary(diagnostics), "strong", color=color)]) + "\n"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`, and how many `--fix` puts right; the empty string for none."""
    errors = sum(d.severity == "error" for d in diagnostics)
    counts = ((errors, "error"), (len(diagnostics) - errors, "warning"))
    text = ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n)
    fixable = sum(any(is_sure(way) for way in d.helps) for d in diagnostics)
    return f"{text} (`specc check --fix` puts {fixable} right)" if fixable else text


def is_sure(way: Help) -> bool:
    """Whether `check --fix` applies this help by itself."""
    return way.applicability == "sure" and bool(way.edits)


def full_title(diagnostic: Diagnostic) -> str:
    """The title, after the situation in which the finding holds."""
    if not diagnostic.situation:
        return diagnostic.title
    return f"{diagnostic.situation}: {diagnostic.title}"


# --- text ---------------------------------------------------------------------------------------


def render_text(diagnostic: Diagnostic, *, color: bool = False, width: int = WIDTH) -> str:
    """One finding with its source lines, without a line end after the last line.

    Args:
        width: columns of source text; longer lines are cut around their labels.
    """
    severity = diagnostic.severity
    head = painted(f"{severity}[{diagnostic.code}]", severity, color=color)
    title = painted(f": {harmless(full_title(diagnostic))}", "strong", color=color)
    lines = [head + title]
    gutter = 0
    footers = [("note", note) for note in diagnostic.notes]
    footers += [("help", way.text) for way in diagnostic.helps]
    if diagnostic.labels:
        gutter = gutter_width(diagnostic.labels)
        paper = Paper(width, gutter, severity, color)
        lines += excerpt(diagnostic.labels, paper)
        if footers:
            lines.append(paper.margin())
    for word, text in footers:
        lines += _footer(word, text, gutter, color=color)
    return "\n".join(lines)


def _footer(word: str, text: str, gutter: int, *, color: bool) -> list[str]:
    first, *more = text.split("\n")
    sign = " " * gutter + painted(" = ", "gutter", color=color)
    label = painted(f"{word}:", "help" if word == "help" else "strong", color=color)
    indent = " " * (gutter + len(f" = {word}: "))
    return [f"{sign}{label} {harmless(first)}", *(indent + harmless(line) for line in more)]


# --- JSON ---------------------------------------------------------------------------------------


def render_json(diagnostic: Diagnostic) -> str:
    """One finding as one line of JSON, as `diagnostic.schema.json` describes it."""
    labels = diagnostic.labels
    value = {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "title": diagnostic.title,
        "situation": diagnostic.situation,
        "file": labels[0].span.source.name if labels else None,
        "labels": [_json_label(label, is_primary=not i) for i, label in enumerate(labels)],
        "notes": list(diagnostic.notes),
        "help": [_json_help(way) for way in diagnostic.helps],
    }
    return json.dumps(value, ensure_ascii=True)


def _json_label(label: Label, *, is_primary: bool) -> dict[str, object]:
    return {**_json_span(label.span), "text": label.text, "primary": is_primary}


def _json_help(way: Help) -> dict[str, object]:
    edits = [_json_edit(edit) for edit in way.edits]
    return {"text": way.text, "edits": edits, "applicability": way.applicability}


def _json_edit(edit: Edit) -> dict[str, object]:
    return {**_json_span(edit.span), "insert": edit.text}


def _json_span(span: Span) -> dict[str, object]:
    source = span.source
    start, end = _json_position(source, span.start), _json_position(source, span.end)
    return {"file": source.name, "start": start, "end": end}


def _json_position(source: Source, offset: int) -> dict[str, int]:
    line, column = source.position(offset)
    return {"line": line, "col": column, "offset": offset}


# --- GitHub -------------------------------------------------------------------------------------


def render_github(diagnostic: Diagnostic) -> str:
    """One finding as a workflow command, which GitHub shows beside the line it is about.

    Source: GitHub Docs, "Workflow commands for GitHub Actions", setting an error message.
    """
    properties: dict[str, object] = {}
    message = [full_title(diagnostic)]
    if diagnostic.labels:
        primary = diagnostic.labels[0]
        properties = _github_place(primary.span)
        message += [primary.text] if primary.text else []
        message += [f"{label.span.place}: {label.text}" for label in diagnostic.labels[1:]]
    message += [f"note: {note}" for note in diagnostic.notes]
    message += [f"help: {way.text}" for way in diagnostic.helps]
    properties["title"] = diagnostic.code
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    lines = [harmless(line) for text in message for line in text.split("\n")]
    return f"::{diagnostic.severity} {written}::{_data(chr(10).join(lines))}"


def _github_place(span: Span) -> dict[str, object]:
    source = span.source
    if source.name == COMMAND_LINE:
        return {}
    line, column = source.position(span.start)
    end_line, end_column = source.position(span.end)
    place: dict[str, object] = {"file": source.name, "line": line}
    if end_line != line:  # GitHub ignores columns of several lines
        return {**place, "endLine": end_line}
    return {**place, "endLine": line, "col": column, "endColumn": end_column}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: object) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")
