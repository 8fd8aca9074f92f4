"""Rules for words: misspelt, in the wrong place, or taken for a name."""

from __future__ import annotations

from specc.diagnostics import nearest
from specc.syntax.brief import brief
from specc.syntax.fault import Fault, Finding, Rule, Way
from specc.syntax.sentences import either, keywords
from specc.syntax.words import DECLARATIONS, ELSEWHERE, PLACES, VERBS

_ACTIONS = frozenset({"shard", "stage", "replicate"})
_SIGNS_OF_A_NAME = frozenset({":", "=", ",", "."})


def near_keyword(fault: Fault) -> Way | None:
    """The word that the fault most likely misspells."""
    if fault.kind_of() != "name":
        return None
    wanted = keywords(fault.accepts)
    near = "use" if (fault.word(), wanted) == ("import", ["use"]) else None
    near = near or nearest(fault.word().lower(), wanted)
    if near is None:
        return None
    return Way(f"did you mean `{near}`?", (fault.replace(fault.at, near),))


def word_as_name(fault: Fault) -> Finding | None:
    """`tie: Linear(d -> d)`: a word that begins a statement cannot be a name."""
    word = fault.first()
    if (
        fault.at != 1
        or word not in PLACES[fault.kind].words
        or fault.word() not in _SIGNS_OF_A_NAME
    ):
        return None
    if word in VERBS:
        example = "init { normal = 0.02 }" if word == "init" else f"{word} each Linear {{ .. }}"
        return Finding(
            "E0121",
            f"`{word}` begins a rule here, so it is no setting",
            "a rule names what it selects",
            first=0,
            ways=(Way(f"write it as `{example}`"),),
        )
    return Finding(
        "E0121",
        f"`{word}` begins {PLACES[fault.kind].expected} here, so it is no name",
        "taken for the keyword",
        first=0,
        ways=(Way("choose another name"),),
    )


def repeat_as_name(fault: Fault) -> Finding | None:
    """`repeat` begins a repetition wherever a value may stand."""
    for index, lexeme in enumerate(fault.lexemes):
        if lexeme.text != "repeat" or index >= fault.at:
            continue
        following = fault.first(index + 1)
        if index == fault.at - 1 and fault.word() in {":", "=", ",", ")", ".", "+", "*", "->"}:
            break
        if following == "(" and fault.at == len(fault.lexemes) and fault.word(-1) == ")":
            break
    else:
        return None
    return Finding(
        "E0121",
        "`repeat` begins a repetition, so it is no name",
        "taken for the keyword",
        first=index,
        ways=(Way("choose another name; a repetition is written `repeat 4 Block`"),),
    )


def word_elsewhere(fault: Fault) -> Finding | None:
    """`compile = true` in `train`, `dim` in a block: a word whose home is another block."""
    word = fault.first()
    home = ELSEWHERE.get(word)
    if home is None or fault.at > 1 or word in PLACES[fault.kind].words:
        return None
    if fault.kind == "settings" and word not in VERBS:
        return None
    ways = [Way(f"write it {home}")]
    if word in VERBS and fault.first(1) == "=":
        ways = [Way(f"write the rule `{word}` {home}; leave it out where nothing is to happen")]
    if fault.kind == "layout" and word in _ACTIONS:
        ways = [Way(f"say for which axis: `dp: {word} ..`")]
    return Finding(
        "E0125",
        f"`{word}` belongs {home}",
        f"begins no {PLACES[fault.kind].expected.split()[-1]} here",
        first=0,
        ways=tuple(ways),
    )


def axis_rule_elsewhere(fault: Fault) -> Finding | None:
    """`dp: shard B` in `train`."""
    action = fault.first(2)
    if fault.kind == "layout" or fault.first(1) != ":" or action not in _ACTIONS:
        return None
    return Finding(
        "E0125",
        "rules for an axis belong in `layout`",
        f"`{action}` has no meaning here",
        first=0,
        last=2,
        ways=(Way("write it in `layout`"),),
    )


def misspelt_start(fault: Fault) -> Finding | None:
    """`retrun x`: the fault shows one lexeme after the misspelt word."""
    place = PLACES[fault.kind]
    if fault.at > 1 or fault.lexemes[0].kind != "name" or fault.first(1) in {":", "=", ","}:
        return None
    near = nearest(fault.first().lower(), place.words)
    if near is None or (fault.at == 1 and not fault.works(fault.replace(0, near))):
        return None
    last = min(1, len(fault.lexemes) - 1)
    found = brief(fault.text[fault.unit.start : fault.lexemes[last].end])
    return Finding(
        "E0101",
        f"expected {place.expected}, found `{found}`",
        "not a keyword",
        first=0,
        ways=(Way(f"did you mean `{near}`?", (fault.replace(0, near),)),),
    )


def no_declaration(fault: Fault) -> Finding | None:
    """`d = 4096` at the top of a file."""
    if fault.kind != "file" or fault.at or fault.lexemes[0].kind != "name":
        return None
    word = fault.first()
    ways = (Way(f"a declaration begins with {either([f'`{each}`' for each in DECLARATIONS])}"),)
    if fault.first(1) == "=":
        cut = fault.replace(0, f"dim {word}")
        ways = (Way(f"a size is declared with `dim {word} = ..`", (cut,), is_guess=True),)
    return Finding(
        "E0101",
        f"expected a declaration, found `{word}`",
        "not a keyword",
        first=0,
        ways=ways,
    )


WORDS: tuple[Rule, ...] = (
    word_as_name,
    repeat_as_name,
    word_elsewhere,
    axis_rule_elsewhere,
    misspelt_start,
    no_declaration,
)
