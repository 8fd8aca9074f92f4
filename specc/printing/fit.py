"""Breaks long lines of the text where ruff's formatter would break them."""

from __future__ import annotations

WIDTH = 100
OPEN, CLOSE = "([{", ")]}"


def fit(text: str, indent: int = 0) -> list[str]:
    """One logical line of Python as lines of at most 100 characters, if brackets allow it."""
    line = " " * indent + text
    if len(line) <= WIDTH:
        return [line]
    split = _last_bracket(text)
    if split is None:
        return [line]
    start, end = split
    head, body, tail = text[: start + 1], text[start + 1 : end], text[end:]
    inner = indent + 4
    pieces = split_at_commas(body)
    whole = " " * inner + ", ".join(pieces)
    lines = [" " * indent + head]
    if len(whole) <= WIDTH and not body.rstrip().endswith(","):
        lines.append(whole)
    else:
        for piece in pieces:
            comma = "" if _is_lone(pieces) else ","
            lines.extend(fit(piece + comma, inner))
    lines.append(" " * indent + tail)
    return lines


def fit_body(body: list[str], indent: int) -> list[str]:
    """The lines of a body whose lines carry their own indentation below `indent`."""
    lines: list[str] = []
    for line in body:
        own = len(line) - len(line.lstrip())
        lines.extend(fit(line.lstrip(), indent + own))
    return lines


def _is_lone(pieces: list[str]) -> bool:
    """A single generator or starred argument takes no comma."""
    return len(pieces) == 1 and (" for " in pieces[0] or pieces[0].startswith("*"))


def _last_bracket(text: str) -> tuple[int, int] | None:
    """Start and end of the last bracket pair that closes at the end of the line."""
    end = len(text)
    while end and text[end - 1] in ":,":
        end -= 1
    if not end or text[end - 1] not in CLOSE:
        return None
    depth = 0
    quoted = ""
    for index in range(end - 1, -1, -1):
        char = text[index]
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "\"'":
            quoted = char
        elif char in CLOSE:
            depth += 1
        elif char in OPEN:
            depth -= 1
            if depth == 0:
                return (index, end - 1) if end - index > 2 else None
    return None


def split_at_commas(text: str) -> list[str]:
    """The pieces between the commas that no bracket or string holds."""
    pieces: list[str] = []
    depth, start, quoted = 0, 0, ""
    for index, char in enumerate(text):
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "\"'":
            quoted = char
        elif char in OPEN:
            depth += 1
        elif char in CLOSE:
            depth -= 1
        elif char == "," and not depth:
            pieces.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*pieces, last] if last else pieces
