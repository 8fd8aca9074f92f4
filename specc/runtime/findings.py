"""What `specc doctor` found, and how it is shown."""

import json
from collections.abc import Sequence
from typing import Literal

import attrs

State = Literal["ok", "note", "missing"]
MARKS: dict[State, str] = {"ok": "ok", "note": "note", "missing": "MISSING"}


@attrs.frozen
class Finding:
    """One thing that was looked at.

    Args:
        subject: what, for people.
        state: `missing` if a training cannot run, `note` if only some cannot.
        text: what was found.
        remedy: what to do, in the imperative; empty where nothing is to be done.
    """

    subject: str
    state: State
    text: str
    remedy: str = ""


def as_text(findings: Sequence[Finding]) -> str:
    """A line for each finding, its remedy below it."""
    width = max(len(finding.subject) for finding in findings)
    lines: list[str] = []
    for finding in findings:
        lines.append(f"{MARKS[finding.state]:>7}  {finding.subject:<{width}}  {finding.text}")
        if finding.remedy:
            lines.append(f"{'':>7}  {'':<{width}}  help: {finding.remedy}")
    return "\n".join(lines)


def as_json(findings: Sequence[Finding]) -> str:
    """One object a line."""
    return "\n".join(json.dumps(attrs.asdict(finding)) for finding in findings)


def exit_code(findings: Sequence[Finding]) -> int:
    """0, or 3 if something is missing."""
    return 3 if any(finding.state == "missing" for finding in findings) else 0
