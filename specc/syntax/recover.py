"""Reads a file that does not parse as a whole: every statement alone, every fault once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import attrs
from lark import Token, Tree

from specc.diagnostics import Diagnostic, Edit, Help, Label, Report, nearest
from specc.source import Source, Span
from specc.syntax.attempt import MAX_OPERATORS, Refusal, TooLong, attempt
from specc.syntax.fault import Fault, Finding, Way
from specc.syntax.mistakes import explain
from specc.syntax.scan import Lexeme
from specc.syntax.units import Unit, body_range, units
from specc.syntax.words import DECLARATIONS, PLACES, Kind, kind_inside

MAX_FAULTS = 100
"""Nobody reads more; what follows is then not looked at."""


@attrs.frozen
class Recovered:
    """What could be read of a file.

    Args:
        parses: the parse of each declaration, with the offset of its text.
    """

    parses: tuple[tuple[Tree[Token], int], ...]
    poisoned: frozenset[str]
    incomplete: frozenset[str]


@attrs.frozen
class Text:
    """A text to be read, and its way back to the source.

    Args:
        origin: where in the source a place of the text comes from.
        damaged: offsets of the text that are reported and cannot be read, ascending.
        guessed: offsets of the text where a bracket was put in or taken out, ascending.
    """

    source: Source
    text: str
    lexemes: Sequence[Lexeme]
    origin: Callable[[int], int]
    damaged: Sequence[int] = ()
    guessed: Sequence[int] = ()


def recover(text: Text, report: Report, kind: Kind = "file") -> Recovered:
    """Parse each declaration alone, without those of its statements that do not parse.

    Args:
        kind: what the text consists of; the parse of anything but declarations begins with the
            frame of its kind.
    """
    reader = _Reader(text, report)
    parses: list[tuple[Tree[Token], int]] = []
    before = None
    for unit in units(text.lexemes, kind, 0, len(text.lexemes)):
        parse = reader.declaration(unit, before)
        if parse is not None:
            parses.append((parse, unit.start))
        before = unit
    return Recovered(tuple(parses), frozenset(reader.poisoned), frozenset(reader.incomplete))


class _Reader:
    """Reads declarations one after the other.

    Attributes:
        poisoned: names that what was left out would have bound.
        incomplete: declarations of which something was left out.
    """

    def __init__(self, text: Text, report: Report) -> None:
        self.text = text
        self.report = report
        self.poisoned: set[str] = set()
        self.incomplete: set[str] = set()
        self.num_faults = 0

    def declaration(self, unit: Unit, before: Unit | None) -> Tree[Token] | None:
        """The parse of a declaration, without what had to be left out of it."""
        if self.num_faults > MAX_FAULTS:
            self.poisoned.update(_bound_names(unit))
            return None
        parse, dropped = self._read(unit, before)
        if parse is None and kind_inside("file", _head(unit)) is not None:
            self.incomplete.add(_head(unit))
        if dropped or _any_in(self.text.guessed, unit.start, unit.end):
            self.incomplete.update(_called(unit))
        return parse

    def _read(self, unit: Unit, before: Unit | None) -> tuple[Tree[Token] | None, list[Unit]]:
        """The parse of a statement, and which statements in it, or it itself, were left out."""
        damaged = _any_in(self.text.damaged, unit.start, unit.end)
        result = None if damaged else attempt(self.text.text[unit.start : unit.end], unit.kind)
        if isinstance(result, Tree):
            return result, []
        dropped = self._read_body(unit)
        if dropped:
            left = self._without(unit, dropped)
            result = None if left is None else attempt(left, unit.kind)
            if isinstance(result, Tree):
                return result, dropped
            if isinstance(result, Refusal) and self._in_body(unit, unit.start + result.start):
                result = None
        if result is not None:
            self._report(unit, before, result)
        self.poisoned.update(_bound_names(unit))
        return None, [unit]

    def _read_body(self, unit: Unit) -> list[Unit]:
        """The statements in the braces of a statement that do not parse, after reporting them."""
        kind = kind_inside(unit.kind, _head(unit)) if unit.lexemes[0].text != "{" else None
        body = body_range(self.text.lexemes, unit)
        dropped: list[Unit] = []
        if kind is None or body is None:
            return dropped
        before = None
        for statement in units(self.text.lexemes, kind, *body):
            if self.num_faults > MAX_FAULTS:
                break
            dropped += self._read(statement, before)[1]
            before = statement
        return dropped

    def _in_body(self, unit: Unit, offset: int) -> bool:
        body = body_range(self.text.lexemes, unit)
        return body is not None and self.text.lexemes[body[0]].start <= offset

    def _without(self, unit: Unit, dropped: Iterable[Unit]) -> str | None:
        """The text of a statement with others in it blanked; None where it stays damaged."""
        pieces: list[str] = []
        done = unit.start
        for each in dropped:
            end = self._end_with_comma(each)
            if _any_in(self.text.damaged, done, each.start):
                return None
            pieces.append(self.text.text[done : each.start])
            blanked = self.text.text[each.start : end]
            pieces.append("".join("\n" if char == "\n" else " " for char in blanked))
            done = end
        if _any_in(self.text.damaged, done, unit.end):
            return None
        return "".join([*pieces, self.text.text[done : unit.end]])

    def _end_with_comma(self, unit: Unit) -> int:
        following = self._following(unit)
        if PLACES[unit.kind].has_commas and following and following.text == ",":
            return following.end
        return unit.end

    def _following(self, unit: Unit) -> Lexeme | None:
        """What stands behind a statement on its line."""
        for index in range(unit.last + 1, len(self.text.lexemes)):
            lexeme = self.text.lexemes[index]
            if lexeme.kind != "space":
                return None if lexeme.kind in {"newline", "comment"} else lexeme
        return None

    # ------------------------------------------------------------------------ reporting

    def _report(self, unit: Unit, before: Unit | None, stop: Refusal | TooLong) -> None:
        self.num_faults += 1
        if isinstance(stop, TooLong):
            self.report.error(
                "E0119",
                self._span(unit.start + stop.start, unit.start + stop.end),
                f"this expression has more than {MAX_OPERATORS} operators in one another",
                "too long to be read",
                helps=("give parts of it names of their own",),
            )
            return
        at = sum(lexeme.end <= unit.start + stop.start for lexeme in unit.lexemes)
        following = self._following(unit)
        after = following.text if following else ""
        fault = Fault(self.text.text, unit, at, stop.accepts, before, after)
        self.report.add(self._diagnostic(fault, explain(fault)))

    def _diagnostic(self, fault: Fault, finding: Finding) -> Diagnostic:
        first = fault.at if finding.first is None else finding.first
        last = first if finding.last is None else finding.last
        lexemes = fault.lexemes
        if first >= len(lexemes):
            span = self._span(lexemes[-1].end, lexemes[-1].end)
        else:
            span = self._span(lexemes[first].start, lexemes[last].end)
        helps = tuple(self._help(fault, way) for way in finding.ways)
        label = Label(span, finding.label)
        return Diagnostic(finding.code, finding.title, (label,), finding.notes, helps)

    def _help(self, fault: Fault, way: Way) -> Help:
        edits = tuple(Edit(self._span(cut.start, cut.end), cut.text) for cut in way.cuts)
        if not edits:
            return Help(way.text)
        sure = not way.is_guess and fault.works(*way.cuts, start=way.start)
        return Help(way.text, edits, "sure" if sure else "likely")

    def _span(self, start: int, end: int) -> Span:
        return Span(self.text.source, self.text.origin(start), self.text.origin(end))


def _any_in(offsets: Sequence[int], start: int, end: int) -> bool:
    """Whether one of some ascending offsets lies in a range."""
    index = bisect_left(offsets, start)
    return index < len(offsets) and offsets[index] < end


def _head(unit: Unit) -> str:
    """The word that a statement begins with, put right where it is misspelt."""
    word = unit.lexemes[0].text
    if unit.kind != "file" or word in DECLARATIONS:
        return word
    return _near_declaration(word.lower())


@lru_cache(maxsize=256)
def _near_declaration(word: str) -> str:
    return nearest(word, DECLARATIONS) or ""


def _called(unit: Unit) -> list[str]:
    """The name of a declaration with a body, or the word it begins with where it has none."""
    head = _head(unit)
    if kind_inside("file", head) is None:
        return []
    return _bound_names(unit)[:1] or [head]


_BINDING = {"from": "use", "extern": "block"}
"""The word behind which a declaration binds names, where it is not the first one."""


def _bound_names(unit: Unit) -> list[str]:
    """Names that a declaration or a statement binds, as far as one can tell."""
    head = _head(unit)
    words = [lexeme.text for lexeme in unit.lexemes]
    names = [lexeme.text if lexeme.kind == "name" else "" for lexeme in unit.lexemes]
    if unit.kind == "axes":
        return names[:1]
    if unit.kind == "block":
        return _names_before_sign(words, names)
    if unit.kind != "file" or head in {"", "check", "specc", "mesh", "train", "on", "launch"}:
        return []
    if head == "dim":
        return [
            name for before, name in pairwise(words) if before in {"dim", ","} and name in names
        ]
    binding = _BINDING.get(head)
    first = 1 if binding is None else words.index(binding) + 1 if binding in words else len(words)
    bound = names[first:] if head == "from" else names[first : first + 1]
    return [name for name in bound if name not in {"", "as"}]


def _names_before_sign(words: list[str], names: list[str]) -> list[str]:
    """`a, b` of `a, b = ..`."""
    end = next((index for index, word in enumerate(words) if word in {"=", ":"}), None)
    if end is None:
        return names[:1]
    found: list[str] = []
    while end > 0 and names[end - 1]:
        found.append(names[end - 1])
        if end < 2 or words[end - 2] != ",":
            break
        end -= 2
    return found
