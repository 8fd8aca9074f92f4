"""`offload` rules of a layout: what lies in the memory of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.assignments import flatten
from specc.check.names import Unknown
from specc.check.rules import listed
from specc.check.selectors import spelled
from specc.check.settings import fill, written_settings
from specc.plan.facts import Offload
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.record import REQUIRED, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from specc.check.selectors import Tree
    from specc.check.ties import Tied
    from specc.diagnostics import Report
    from specc.plan.facts import Parameter, Storage, Unit
    from specc.source import Span
    from specc.vocabulary.record import Constructor

SETTINGS = (Setting("to", "word", default=REQUIRED, choices=("cpu",)),)
STATE = "optim"  # stands where a selector stands, and means the optimizer state


@attrs.frozen
class OffloadRule:
    """One rule, understood.

    Args:
        parameters: names, without the follower of a tie.
        state: it names the optimizer state.
    """

    parameters: frozenset[str]
    state: bool
    span: Span = attrs.field(eq=False, repr=False)


def offloads(rules: Iterable[tree.VerbRule], model: Tree, ties: Tied) -> tuple[OffloadRule, ...]:
    """The rules of a layout; what is wrong with one of them alone is reported."""
    read = (_read(rule, model, ties) for rule in rules)
    return tuple(rule for rule in read if rule is not None)


def _read(rule: tree.VerbRule, model: Tree, ties: Tied) -> OffloadRule | None:
    given = written_settings(flatten(rule.attrs, (), "file"))
    settings = fill("offload", SETTINGS, given, model.scope, rule.span)
    states = [selector for selector in rule.selectors if _is_state(selector)]
    others = [selector for selector in rule.selectors if not _is_state(selector)]
    if isinstance(settings, Unknown) or not all(_is_whole(state, model) for state in states):
        return None
    if states and not others:
        return OffloadRule(frozenset(), state=True, span=rule.span)
    selection = model.select_all(others)
    if selection is None:
        return None
    reached = model.tensors_of(selection.parts) | selection.direct
    trained = {name for name in reached if model.tensors[name].parameter.trained}
    if not trained:
        _report_nothing(rule.span, "this `offload` reaches no parameter", model.report)
        return None
    names = frozenset(ties.to.get(name, name) for name in trained)
    return OffloadRule(names, state=bool(states), span=rule.span)


def _is_state(selector: tree.Selector) -> bool:
    target = selector.target
    return isinstance(target, tree.Name) and target.name == STATE and not selector.each


def _is_whole(selector: tree.Selector, model: Tree) -> bool:
    """Whether it names the whole optimizer state; a part of it is refused."""
    if selector.within is None and selector.without is None:
        return True
    model.report.error(
        "E0493",
        selector.span,
        "this version of specc moves the optimizer state of all parameters, or none of it",
        "state of some parameters",
        helps=["write `offload optim { to = cpu }`"],
    )
    return False


def _report_nothing(span: Span, title: str, report: Report) -> None:
    report.error("E0402", span, title, "nothing to move", helps=["leave the rule out"])


# ---------------------------------------------------------------------------------- together


def offload(rules: Sequence[OffloadRule]) -> Offload | None:
    """What all rules together move; None without a rule."""
    if not rules:
        return None
    names = frozenset(name for rule in rules for name in rule.parameters)
    return Offload(rules[0].span, names, any(rule.state for rule in rules))


def check_offload(
    rules: Sequence[OffloadRule],
    store: Storage,
    made: Iterable[Parameter],
    optimizer: Constructor,
    report: Report,
) -> None:
    """Report rules without effect, units that would be torn, and what is not built yet.

    Args:
        store: with the units that the rules would move, whatever the target.
    """
    _check_again(rules, report)
    _check_units(rules, store, report)
    state = next((rule for rule in rules if rule.state), None)
    if state is not None:
        moved = {name for rule in rules for name in rule.parameters}
        trained = {p.name for p in made if p.trained and not p.frozen and p.tied_to is None}
        _check_state(state, moved, trained, optimizer, report)


def _check_again(rules: Sequence[OffloadRule], report: Report) -> None:
    """Report a rule that moves nothing which the others do not move; of equals, the later one."""
    kept = list(rules)
    for rule in reversed(rules):
        others = [other for other in kept if other is not rule]
        names = {name for other in others for name in other.parameters}
        is_new = rule.state and not any(other.state for other in others)
        if others and not is_new and rule.parameters <= names:
            kept = others
            also = [(other.span, "moved here") for other in others]
            title, label = "other rules move all of this already", "nothing is left to move"
            report.error("E0402", rule.span, title, label, also=also, helps=["leave it out"])


def _check_units(rules: Sequence[OffloadRule], store: Storage, report: Report) -> None:
    """Report a unit of which rules move only some; the first one of each rule."""
    moved = {name for rule in rules for name in rule.parameters}
    said: list[OffloadRule] = []
    for unit in store.units:
        torn = [name for name in unit.parameters if name in moved]
        if not torn or len(torn) == len(unit.parameters):
            continue
        rule = next(rule for rule in rules if torn[0] in rule.parameters)
        if rule not in said:
            said.append(rule)
            _report_torn(rule, unit, torn, report)


def _report_torn(rule: OffloadRule, unit: Unit, torn: Sequence[str], report: Report) -> None:
    left = [name for name in unit.parameters if name not in torn]
    others = "1 parameter that stays" if len(left) == 1 else f"{len(left)} parameters that stay"
    part = torn[0].rpartition(".")[0]
    is_root = unit.modules == ("",)
    whole = "all that no other unit holds" if is_root else f"`{spelled(unit.modules[0])}`"
    report.error(
        "E0421",
        rule.span,
        f"`{spelled(torn[0])}` is gathered together with {others} on the device",
        "part of a unit",
        also=[(unit.span, "the units are made here")] if unit.span is not None else [],
        notes=[f"not moved: {listed(spelled(name) for name in left)}"],
        helps=[
            f"select the whole unit, {whole}",
            *([f"or make it a unit: `shard params per .., {spelled(part)}`"] if part else []),
        ],
    )


def _check_state(
    rule: OffloadRule,
    moved: set[str],
    trained: set[str],
    optimizer: Constructor,
    report: Report,
) -> None:
    record = find("optimizers", optimizer.name)
    if not record.state_bytes(optimizer.settings):
        title = f"`{optimizer.name}` keeps no state with these settings"
        _report_nothing(rule.span, title, report)
    elif trained <= moved:
        title = "the optimizer state of parameters on the host lies there anyhow"
        _report_nothing(rule.span, title, report)
    elif moved:
        report.error(
            "E0493",
            rule.span,
            "this version of specc moves the optimizer state of parameters on the device, or some "
            "parameters with theirs, not both",
            "not built yet",
            notes=[f"{len(moved & trained)} of {len(trained)} trained parameters are moved"],
            helps=[
                "move all of it: `offload { to = cpu }`",
                "or `offload optim { to = cpu }` alone",
            ],
        )
