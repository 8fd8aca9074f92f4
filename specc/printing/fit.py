"""Breaks long lines of the text where ruff's formatter would break them."""

from __future__ import annotations

import re
from itertools import pairwise

WIDTH = 100
OPEN, CLOSE = "([{", ")]}"


def fit(text: str, indent: int = 0) -> list[str]:
    """One logical line of Python as lines of at most 100 characters, if brackets allow it."""
    line = " " * indent + text
    if len(line) <= WIDTH:
        return [line]
    code, mark, comment = text.partition("  # ")
    lines = _broken(code, indent)
    return [*lines[:-1], lines[-1] + mark + comment]


def _broken(text: str, indent: int) -> list[str]:
    """A logical line without its comment, broken once more than the brackets in it need."""
    operands = _operands(text)
    links = _chain(text) or operands
    if links:
        return _linked(links, indent, whole=bool(operands))
    return _opened(text, indent)


def _opened(text: str, indent: int) -> list[str]:
    """A line broken inside a bracket, and inside the next one where its end is too long still."""
    split = _bracket(text, indent)
    if split is None:
        return [" " * indent + text]
    start, end = split
    head, body, tail = text[: start + 1], text[start + 1 : end], text[end:]
    inner = indent + 4
    pieces = split_at_commas(body)
    whole = " " * inner + ", ".join(pieces)
    lines = [" " * indent + head]
    is_group = _is_group(text, start, pieces)
    on_one_line = is_group or _is_call(text, start)  # a list or a dict has a line for each item
    if on_one_line and len(whole) <= WIDTH and not body.rstrip().endswith(","):
        lines.append(whole)
    else:
        for piece in pieces:
            comma = "" if is_group or _is_lone(pieces) else ","
            lines.extend(fit(piece + comma, inner))
    if indent + len(tail) <= WIDTH:
        return [*lines, " " * indent + tail]
    more = _opened("_" + tail[1:], indent)  # a name stands for what is closed
    return [*lines, more[0].replace("_", tail[0], 1), *more[1:]]


def fit_body(body: list[str], indent: int) -> list[str]:
    """The lines of a body whose lines carry their own indentation below `indent`."""
    lines: list[str] = []
    for line in body:
        own = len(line) - len(line.lstrip())
        lines.extend(fit(line.lstrip(), indent + own))
    return lines


def _is_lone(pieces: list[str]) -> bool:
    """A single generator, starred argument, chain or sum takes no comma."""
    if len(pieces) != 1:
        return False
    (piece,) = pieces
    is_linked = bool(_chain(piece) or _operands(piece))
    return " for " in piece or piece.startswith("*") or is_linked


def _is_group(text: str, start: int, pieces: list[str]) -> bool:
    """Parentheses around an expression, in which a comma would make a tuple."""
    return text[start] == "(" and not _is_call(text, start) and len(pieces) == 1


def _is_call(text: str, start: int) -> bool:
    """Whether what a bracket opens are arguments."""
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_)]")


def _chain(text: str) -> list[str]:
    """`x = `, `f(..)`, `.g(..)`, `.h(..)`, the end: a chain with two or more links after a call.

    Ruff gives each of them a line. Nothing for any other text.
    """
    prefix, rest = _prefix(text)
    end = len(rest.rstrip(","))
    links: list[str] = []
    last = 0
    for start, close in _pairs(rest[:end]):
        name = rest[last:start]
        if not re.fullmatch(r"\.\w+" if links else r"[A-Za-z_][\w.]*", name):
            return []
        links.append(rest[last : close + 1])
        last = close + 1
    return [prefix, *links, rest[end:]] if last == end and len(links) > 2 else []


def _operands(text: str) -> list[str]:
    """`x = `, `a`, `+ b`, `- c`, the end: arithmetic with a line for each operand.

    Nothing for any other text, and where a bracket can be broken after the one operator.
    """
    prefix, rest = _prefix(text)
    end = len(rest.rstrip(","))
    inside = [index for pair in _pairs(rest) for index in range(*pair)]
    signs = [
        found.start() + 1
        for found in re.finditer(r" [-+*/] ", rest)
        if found.start() not in inside and '"' not in rest
    ]
    sums = [at for at in signs if rest[at] in "+-"]
    cuts = [0, *(sums or signs), end]
    parts = [rest[first:last].strip() for first, last in pairwise(cuts)]
    is_keyword = re.match(r"\w+=", rest) is not None
    if len(parts) < 2 or is_keyword or (prefix and len(parts) == 2 and rest[end - 1] in CLOSE):
        return []
    return [prefix, *parts, rest[end:]]


def _prefix(text: str) -> tuple[str, str]:
    """`x = ` or `return `, and what follows."""
    if text.startswith("return "):
        return "return ", text.removeprefix("return ")
    head, sign, rest = text.partition(" = ")
    return (head + sign, rest) if re.fullmatch(r"[\w.]+", head) and sign else ("", text)


def _linked(links: list[str], indent: int, *, whole: bool) -> list[str]:
    """A line for each link of a chain or operand, in parentheses where they are no argument.

    Args:
        whole: whether one line holds all of them in their parentheses, if it is long enough.
    """
    prefix, *parts, end = links
    inner = indent + 4 if prefix else indent
    lines = [line for part in parts for line in fit(part, inner)]
    joined = " " * inner + " ".join(parts)
    if prefix and whole and len(joined) <= WIDTH:
        lines = [joined]
    if not prefix:
        return [*lines[:-1], lines[-1] + end]
    return [f"{' ' * indent}{prefix}(", *lines, f"{' ' * indent}){end}"]


def _bracket(text: str, indent: int) -> tuple[int, int] | None:
    """Start and end of the pair to break at, in the calls with which the line ends.

    It is the first one after which the line is too long up to where the next one opens.
    """
    pairs = _calls_at_end(text)
    for pair, after in pairwise(pairs):
        if indent + after[0] + 1 > WIDTH:
            return pair
    return pairs[-1] if pairs else None


def _calls_at_end(text: str) -> list[tuple[int, int]]:
    """The brackets of `f(..).g(..)[..]` at the end of a line, those with nothing in them apart.

    And those of `f(..) * g(..)`, where nothing else is between two of them.
    """
    end = len(text.rstrip(":,"))
    found: list[tuple[int, int]] = []
    for start, close in reversed(_pairs(text)):
        if not re.fullmatch(r"(\.\w+)?|( [-+*/] [\w.]+)", text[close + 1 : end]):
            break
        found.append((start, close))
        end = start
    return [(start, close) for start, close in reversed(found) if close - start > 1]


def _pairs(text: str) -> list[tuple[int, int]]:
    """Start and end of all brackets that are in no other ones."""
    found: list[tuple[int, int]] = []
    depth, start, quoted = 0, 0, ""
    for index, char in enumerate(text):
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "\"'":
            quoted = char
        elif char in OPEN:
            start = start if depth else index
            depth += 1
        elif char in CLOSE:
            depth -= 1
            if depth == 0:
                found.append((start, index))
    return found


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
