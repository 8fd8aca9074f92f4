"""Checks what the grammar leaves open: the edition, and rules that stand in the wrong block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specc.diagnostics import Edit, Help, Report
from specc.source import Span
from specc.syntax import tree
from specc.syntax.words import ELSEWHERE, VERBS

EDITION = 1
"""The edition of the language that this version reads."""


def check_placement(declarations: Sequence[tree.Declaration], report: Report) -> None:
    """Report editions that cannot be read, and what stands where it has no meaning."""
    for index, declaration in enumerate(declarations):
        match declaration:
            case tree.Edition():
                _check_edition(declaration, report, is_first=index == 0)
            case tree.Layout():
                rules = (rule for rule in declaration.rules if isinstance(rule, tree.VerbRule))
                _check_rules(rules, "layout", report)
            case tree.Train():
                _check_rules(declaration.rules, "train", report)
            case _:
                pass


def _check_edition(edition: tree.Edition, report: Report, *, is_first: bool) -> None:
    if not is_first:
        title = "the edition belongs at the top of the file, once"
        report.error("E0109", edition.span, title, "not the first declaration")
    number = edition.number
    if number.value == EDITION and number.text == str(EDITION):
        return
    newer = isinstance(number.value, int) and number.value > EDITION and number.text.isdigit()
    way = Help("upgrade: pip install -U specc")
    if not newer:
        way = Help(f"write `specc {EDITION}`", (Edit(number.span, str(EDITION)),), "likely")
    report.error(
        "E0108",
        number.span,
        f"this file is edition {number.text}; this specc understands edition {EDITION}",
        f"edition {number.text}",
        helps=(way,),
    )


def _check_rules(rules: Iterable[tree.VerbRule], block: str, report: Report) -> None:
    for rule in rules:
        if VERBS[rule.verb] != block:
            report_place(rule.verb, rule.verb_span, block, report)


def report_place(word: str, span: Span, block: str, report: Report) -> None:
    """Report a rule in a block where it has no meaning."""
    why = {
        "train": "rules that change the mathematics stand in `train`",
        "layout": "rules that leave the mathematics as it is stand in `layout`",
    }[VERBS[word]]
    report.error(
        "E0125",
        span,
        f"`{word}` belongs {ELSEWHERE[word]}",
        f"has no meaning in `{block}`",
        notes=(why,),
        helps=(f"write it {ELSEWHERE[word]}",),
    )
