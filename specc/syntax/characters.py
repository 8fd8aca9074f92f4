"""Reports characters that have no place in a spec, and says how to read on without them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import attrs

from specc.diagnostics import Edit, Help, Report
from specc.source import Source, Span
from specc.syntax.patch import Cut
from specc.syntax.scan import Lexeme

# C0 and C1 without tab and line end, separators that end lines elsewhere, bidirectional controls
# (they show a text in another order than it is read), and halves of surrogate pairs.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)
_NAMED_CONTROLS = {
    "\x00": "NUL",
    "\x0b": "VERTICAL TAB",
    "\x0c": "FORM FEED",
    "\r": "CARRIAGE RETURN without a line feed",
    "\x1b": "ESCAPE",
}
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_QUOTES = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\uff02\uff07'"
# What keyboards and word processors put in the place of an ASCII sign.
_SIGNS = {
    "\u3002": ".",
    "\u3001": ",",
    "\u3010": "[",
    "\u3011": "]",
    "\u00d7": "*",
    "\u00b7": "*",
    "\u00f7": "/",
    "\u2212": "-",
    "\u2010": "-",
    "\u2011": "-",
    "\u2013": "-",
    "\u2014": "-",
    "\u2192": "->",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\u2026": "..",
}
_SIGNS_NOTE = "signs: ( ) [ ] { } , : = -> + - * / % == != < <= > >= . .. ; #"


@attrs.frozen
class Examined:
    """What a look at the characters gives.

    Args:
        cuts: replacements after which the text can be read on.
        damaged: offsets, in the text before the cuts, of what is reported and yet not readable.
    """

    cuts: tuple[Cut, ...]
    damaged: tuple[int, ...]


def examine(source: Source, lexemes: Sequence[Lexeme], report: Report) -> Examined:
    """Report every character that has no place in a spec, and say how to read on."""
    cuts: list[Cut] = []
    damaged: list[int] = []
    foreign: dict[str, list[Lexeme]] = {}
    if not source.text.isascii() or _CONTROL.search(source.text):
        found = list(_CONTROL.finditer(source.text))
        _report_controls(source, [match.start() for match in found], report)
        damaged += [match.start() for match in found]
        cuts += _look_alikes(source, lexemes, report)
    for lexeme in _runs(lexemes):
        match lexeme.kind:
            case "open_string":
                cuts.append(_unclosed(source, lexeme, report))
                damaged.append(lexeme.start)
            case "quoted" if lexeme.text.isascii():
                cuts += _single_quoted(source, lexeme, report)
            case "foreign" if not _ascii_form(lexeme.text):
                foreign.setdefault(lexeme.text, []).append(lexeme)
                damaged.append(lexeme.start)
            case "odd" if not (_ascii_form(lexeme.text) or _CONTROL.match(lexeme.text)):
                _report_odd(source, lexeme, report)
                damaged.append(lexeme.start)
            case _:
                pass
    for places in foreign.values():
        _report_foreign(source, places, report)
    return Examined(tuple(cuts), tuple(sorted(damaged)))


def _runs(lexemes: Iterable[Lexeme]) -> Iterator[Lexeme]:
    """The lexemes, with equal unknown signs beside each other (`&&`) as one."""
    run: Lexeme | None = None
    for lexeme in lexemes:
        if run and lexeme.kind == "odd" and lexeme.text == run.text[0]:
            run = run._replace(text=run.text + lexeme.text)
            continue
        if run:
            yield run
        run = lexeme if lexeme.kind == "odd" else None
        if not run:
            yield lexeme
    if run:
        yield run


def _ascii_form(text: str) -> str:
    """The ASCII text that `text` stands for, or nothing where it is not one."""
    plain = "".join(_ascii_sign(char) for char in text)
    return plain if plain.isascii() and "\0" not in plain else ""


def _ascii_sign(char: str) -> str:
    if char.isascii():
        return char if char.isalnum() or char in "_ " else "\0"
    if char in _SIGNS:
        return _SIGNS[char]
    if "\uff01" <= char <= "\uff5e":
        return chr(ord(char) - 0xFEE0)
    return " " if unicodedata.category(char) == "Zs" else "\0"


# ---------------------------------------------------------------------------- look-alikes


def _look_alikes(source: Source, lexemes: Iterable[Lexeme], report: Report) -> list[Cut]:
    """Cuts for signs that only look like ASCII ones; one finding for each line that has some."""
    cuts: list[Cut] = []
    for lexeme in lexemes:
        match lexeme.kind:
            case "foreign" | "odd" if _ascii_form(lexeme.text):
                for offset, char in enumerate(lexeme.text, lexeme.start):
                    if not char.isascii():
                        cuts.append(Cut(offset, offset + 1, _ascii_sign(char)))
            case "quoted" if not lexeme.text.isascii():
                cuts.append(Cut(lexeme.start, lexeme.start + 1, '"'))
                cuts.append(Cut(lexeme.end - 1, lexeme.end, '"'))
            case "wide_comment":
                cuts.append(Cut(lexeme.start, lexeme.start + 1, "#"))
            case _:
                pass
    lines: dict[int, list[Cut]] = {}
    for cut in cuts:
        lines.setdefault(source.position(cut.start)[0], []).append(cut)
    for on_line in lines.values():
        _report_look_alikes(source, on_line, report)
    return cuts


def _report_look_alikes(source: Source, cuts: Sequence[Cut], report: Report) -> None:
    first = source.text[cuts[0].start]
    signs = dict.fromkeys(cut.text for cut in cuts)
    edits = tuple(Edit(Span(source, cut.start, cut.end), cut.text) for cut in cuts)
    what = f"`{first}` is {_kind_of_sign(first)}, not the ASCII sign `{cuts[0].text}`"
    if cuts[0].text == " ":
        what = f"{_described(first)} stands where a plain space belongs"
    written = (
        "plain spaces" if set(signs) == {" "} else " ".join(f"`{s}`" for s in signs if s != " ")
    )
    report.error(
        "E0115",
        edits[0].span,
        what,
        _instead(cuts[0]),
        also=[(edit.span, _instead(cut)) for edit, cut in zip(edits[1:], cuts[1:], strict=True)],
        helps=(
            Help(f"write {written}; comments and strings may hold any character", edits, "sure"),
        ),
    )


def _instead(cut: Cut) -> str:
    return "write a space" if cut.text == " " else f"write `{cut.text}`"


def _kind_of_sign(char: str) -> str:
    if "\uff01" <= char <= "\uff5e" or "\u3001" <= char <= "\u3011":
        return "a full-width sign"
    return "a typographic quote" if char in _QUOTES else "a typographic sign"


def _described(char: str) -> str:
    """`NO-BREAK SPACE (U+00A0)`."""
    name = unicodedata.name(char, _NAMED_CONTROLS.get(char, "a control character"))
    return f"{name} (U+{ord(char):04X})"


# ---------------------------------------------------------------------- what has no place


def _report_controls(source: Source, places: Sequence[int], report: Report) -> None:
    """One finding for each such character, however often it occurs."""
    by_char: dict[str, list[int]] = {}
    for place in places:
        by_char.setdefault(source.text[place], []).append(place)
    for char, offsets in by_char.items():
        spans = [Span(source, offset, offset + 1) for offset in offsets]
        more = f", {len(spans)} times in this file" if len(spans) > 1 else ""
        instead = "\n" if char == "\r" else ""
        way = "end lines with a line feed" if instead else "remove it"
        report.error(
            "E0114",
            spans[0],
            f"a spec cannot hold the invisible character {_described(char)}",
            f"here{more}",
            helps=(Help(way, tuple(Edit(span, instead) for span in spans), "sure"),),
        )


def _unclosed(source: Source, lexeme: Lexeme, report: Report) -> Cut:
    """Report a string without an end, and end it where a setting or a bracket may end."""
    wide = re.search(f"[{_QUOTES}]", lexeme.text)
    if wide:
        place = Span(source, lexeme.start + wide.start(), lexeme.start + wide.end())
        way = Help(f'`{wide[0]}` does not close it; write `"`', (Edit(place, '"'),), "likely")
    else:
        way = Help('close it with `"`; strings do not span lines')
    span = Span(source, lexeme.start, lexeme.start + len(lexeme.text.rstrip()))
    title = "this string is not closed on its line"
    report.error("E0103", span, title, "starts here", helps=(way,))
    end = wide or re.search(r"[,)\]}]|$", lexeme.text)
    assert end is not None
    # A backslash would escape the quote that is put behind it.
    inside = lexeme.text[1 : end.start()].replace("\\", "/")
    return Cut(lexeme.start, lexeme.start + (wide.end() if wide else end.start()), f'"{inside}"')


def _single_quoted(source: Source, lexeme: Lexeme, report: Report) -> list[Cut]:
    span = Span(source, lexeme.start, lexeme.end)
    better = f'"{lexeme.text[1:-1]}"'
    helps = (Help(f"write `{better}`", (Edit(span, better),), "sure"),)
    report.error("E0122", span, "strings take double quotes", "single quotes", helps=helps)
    return [Cut(lexeme.start, lexeme.start + 1, '"'), Cut(lexeme.end - 1, lexeme.end, '"')]


def _report_foreign(source: Source, places: Sequence[Lexeme], report: Report) -> None:
    """One finding for a word, at the first of its places."""
    lexeme = places[0]
    more = f", {len(places)} times in this file" if len(places) > 1 else ""
    letter = next(char for char in lexeme.text if not char.isascii())
    notes = [f"`{letter}` is {_described(letter)}"]
    helps = [
        "names are made of ASCII letters, digits and `_`; comments and strings may hold any text"
    ]
    greek = re.fullmatch(r"GREEK SMALL LETTER (\w+)", unicodedata.name(letter, ""))
    if greek and len(lexeme.text) == 1:
        helps.append(f"write `{greek[1].lower()}`")
    report.error(
        "E0116",
        Span(source, lexeme.start, lexeme.end),
        f"`{lexeme.text}` is not a name: it has letters beyond ASCII",
        f"not a name{more}",
        notes=notes,
        helps=helps,
    )


def _report_odd(source: Source, lexeme: Lexeme, report: Report) -> None:
    span = Span(source, lexeme.start, lexeme.end)
    char = lexeme.text
    if char in _INVISIBLE:
        help_ = Help("remove it", (Edit(span, ""),), "sure")
        report.error(
            "E0114",
            span,
            f"a spec cannot hold the invisible character {_described(char)}",
            "between the visible ones",
            helps=(help_,),
        )
        return
    report.error(
        "E0122",
        span,
        f"`{char}` is not a sign of the language",
        "unknown sign",
        notes=(_SIGNS_NOTE,),
    )
