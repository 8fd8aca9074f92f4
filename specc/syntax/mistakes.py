"""Explains why a statement does not parse: rules that know a mistake, else what was expected."""

from __future__ import annotations

from specc.syntax.brief import brief
from specc.syntax.fault import Fault, Finding, Rule
from specc.syntax.mistakes_of_habit import HABITS
from specc.syntax.mistakes_of_sign import SIGNS, missing_sign
from specc.syntax.mistakes_of_word import WORDS, near_keyword
from specc.syntax.sentences import expectation
from specc.syntax.words import FORMS, PLACES

_RULES: tuple[Rule, ...] = (*HABITS, *WORDS, *SIGNS)


def explain(fault: Fault) -> Finding:
    """What the first rule that knows the mistake says, else the general sentence."""
    for rule in _RULES:
        finding = rule(fault)
        if finding is not None:
            return finding
    return general(fault)


def general(fault: Fault) -> Finding:
    """Expected this, found that."""
    expected = expectation(fault.accepts)
    if fault.at == 0:
        expected = PLACES[fault.kind].expected
    found = fault.word() or fault.after
    named = f"`{brief(found)}`" if found else "end of line"
    ways = [way for way in (near_keyword(fault), missing_sign(fault)) if way]
    return Finding(
        "E0101",
        f"expected {expected}, found {named}",
        f"expected {expected}",
        notes=() if ways else (_example(fault),),
        ways=tuple(ways[:1]),
    )


def _example(fault: Fault) -> str:
    """How a statement of this kind is written."""
    form = FORMS.get(fault.first()) if fault.kind == "file" else None
    return f"{PLACES[fault.kind].expected} is written `{form or PLACES[fault.kind].form}`"
