"""From the text of a spec to its typed tree and all that is wrong with the text."""

from __future__ import annotations

from specc.diagnostics import Diagnostic
from specc.source import Source
from specc.syntax import tree
from specc.syntax.build import build
from specc.syntax.grammar import parser


def parse(source: Source) -> tuple[tree.File, tuple[Diagnostic, ...]]:
    raw = parser().parse(source.text, start="start")
    declarations, maker = build(raw, source)
    return tree.File(source, _flat(declarations)), maker.report.diagnostics


def _flat(declarations):
    flat = []
    for each in declarations:
        flat.extend(each if isinstance(each, tuple) else (each,))
    return tuple(flat)
