"""From the text of a spec to its typed tree and all that is wrong with the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from lark import Token, Tree

from specc.diagnostics import Diagnostic, Label, Report
from specc.source import Source
from specc.syntax import tree
from specc.syntax.attempt import attempt
from specc.syntax.brackets import Balance, is_balanced
from specc.syntax.build import build
from specc.syntax.characters import examine
from specc.syntax.patch import patched
from specc.syntax.placement import check_placement
from specc.syntax.read import MAX_BYTES, report_size
from specc.syntax.recover import MAX_FAULTS, Recovered, Text, recover
from specc.syntax.scan import scan
from specc.syntax.words import PLACES


def parse(source: Source) -> tuple[tree.File, tuple[Diagnostic, ...]]:
    """The tree of a file, and all that is wrong with its text, in the order of the places.

    No text makes it raise, and time grows linearly with the text. A faulty statement is reported
    once and left out of the tree; `File.poisoned` and `File.incomplete` say what is missing.
    """
    report = Report()
    if len(source.text) > MAX_BYTES:
        report_size(source.name, report)
        return tree.File(source, ()), report.diagnostics
    text = _readable(source, report)
    whole = None if text.damaged or text.guessed else attempt(text.text, "file")
    if isinstance(whole, Tree):
        found = Recovered(((whole, 0),), frozenset(), frozenset())
    else:
        found = recover(text, report)
    declarations: list[tree.Declaration] = []
    for raw, offset in found.parses:
        declarations += _declarations(source, raw, _shifted(text.origin, offset), report)
    check_placement(declarations, report)
    file = tree.File(source, tuple(declarations), found.poisoned, found.incomplete)
    return file, _first(report.diagnostics)


def parse_settings(source: Source) -> tuple[tuple[tree.Attr, ...], tuple[Diagnostic, ...]]:
    """Settings as they stand in a profile, such as `mesh.dp = 4`, and all that is wrong with them.

    Args:
        source: of one argument of the command line.
    """
    report = Report()
    text = _readable(source, report)
    found = recover(text, report, "settings")
    frame = len(PLACES["settings"].frame)
    attrs: list[tree.Attr] = []
    for raw, offset in found.parses:
        for each in _declarations(source, raw, _shifted(text.origin, offset - frame), report):
            attrs += each.attrs if isinstance(each, tree.Launch) else ()
    return tuple(attrs), report.diagnostics


def _readable(source: Source, report: Report) -> Text:
    """The text with ASCII signs and balanced brackets; what was changed for that is reported."""
    lexemes = scan(source.text)
    examined = examine(source, lexemes, report)
    ascii_text = patched(source.text, examined.cuts)
    lexemes = scan(ascii_text.text) if examined.cuts else lexemes
    damaged = [ascii_text.moved(offset) for offset in examined.damaged]
    if is_balanced(lexemes):
        return Text(source, ascii_text.text, lexemes, ascii_text.origin, damaged)
    balance = Balance(source, lexemes, ascii_text.origin, report)
    balance.run()
    balanced = patched(ascii_text.text, balance.cuts)
    return Text(
        source,
        balanced.text,
        scan(balanced.text),
        lambda offset: ascii_text.origin(balanced.origin(offset)),
        damaged=sorted(balanced.moved(offset) for offset in {*damaged, *balance.damaged}),
        guessed=sorted(balanced.moved(cut.start) for cut in balance.cuts),
    )


def _first(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """As many findings as somebody may want to read, and a last one that says so."""
    if len(diagnostics) <= MAX_FAULTS:
        return diagnostics
    title = f"more than {MAX_FAULTS} faults: this one and what follows are not shown"
    last = Diagnostic("E0128", title, (Label(diagnostics[MAX_FAULTS].labels[0].span),))
    return (*diagnostics[:MAX_FAULTS], last)


def _shifted(origin: Callable[[int], int], offset: int) -> Callable[[int], int]:
    return lambda place: origin(place + offset)


def _declarations(
    source: Source, raw: Tree[Token], origin: Callable[[int], int], report: Report
) -> list[tree.Declaration]:
    made, maker = build(raw, source, origin)
    report.extend(maker.report.diagnostics)
    flat: list[tree.Declaration] = []
    for each in cast("tuple[tree.Declaration | tuple[tree.DimDecl, ...], ...]", made):
        flat += each if isinstance(each, tuple) else (each,)
    return flat
