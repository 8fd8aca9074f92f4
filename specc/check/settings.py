"""Fits written settings to what a record of the vocabulary accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from specc.check.expressions import evaluate, show
from specc.check.names import UNKNOWN, Evaluated, Unknown
from specc.diagnostics import Edit, Help, nearest
from specc.syntax import tree
from specc.vocabulary.find import find, known_names
from specc.vocabulary.record import REQUIRED, Constructor, Later, Setting, SettingValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specc.check.assignments import Assignment
    from specc.check.expressions import Scope
    from specc.diagnostics import Report
    from specc.source import Span

# What people call the kinds, and how a bare number becomes one of the kinds with a unit.
KIND_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "`true` or `false`",
    "word": "a word",
    "string": "a text in quotes",
    "duration": "a duration",
    "bytes": "a size in bytes",
    "list": "a list",
    "constructor": "a word with settings",
}
UNITS = {"duration": "seconds", "bytes": "bytes"}
UNIT_HELP = {
    "duration": ("seconds? minutes?", "s", "10min"),
    "bytes": ("bytes? GiB?", "GiB", "48GiB"),
}


@attrs.frozen
class Written:
    """One setting as written: its name, if it has one, and its expression."""

    name: str | None
    expr: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Valued:
    """One setting of a constructor that is known by value only, such as a block's argument."""

    name: str | None
    value: SettingValue
    span: Span = attrs.field(eq=False, repr=False)


def written(arguments: Iterable[tree.Argument]) -> tuple[Written, ...]:
    """The arguments of a call as settings."""
    return tuple(Written(a.name, a.value, a.name_span or a.span) for a in arguments)


def written_settings(lines: Iterable[Assignment]) -> tuple[Written, ...]:
    """The lines of a rule's `{ }` as settings."""
    return tuple(Written(".".join(line.paths[0]), line.value, line.span) for line in lines)


def fill(
    owner: str,
    accepted: Sequence[Setting],
    given: Sequence[Written | Valued],
    scope: Scope,
    span: Span,
    positional: Sequence[str] = (),
) -> dict[str, SettingValue] | Unknown:
    """Every accepted setting with its value, defaults filled in; UNKNOWN after any report.

    Args:
        owner: what has the settings, for messages: `AdamW`, `train`.
        span: where a missing setting is reported.
    """
    named = _by_name(owner, accepted, given, scope.report, positional)
    if isinstance(named, Unknown):
        return UNKNOWN
    values: dict[str, SettingValue] = {}
    sound = True
    for setting in accepted:
        item = named.get(setting.name)
        if item is None:
            sound = _default(owner, setting, values, span, scope.report) and sound
            continue
        value = _value(owner, setting, item, scope)
        if isinstance(value, Unknown):
            sound = False
        else:
            values[setting.name] = value
    return values if sound else UNKNOWN


def constructor(
    expr: tree.Expr,
    scope: Scope,
    kind: str,
    what: str,
    choices: Sequence[str] = (),
) -> Constructor | Unknown:
    """A word with settings, such as `cosine(warmup = 100)`, fitted to its record.

    Args:
        kind: folder of the vocabulary.
        what: what the word is, for messages: `optimizer`.
        choices: the names allowed; empty for every name of the kind.
    """
    expr = _behind_lets(expr, scope)
    if isinstance(expr, tree.Call) and isinstance(expr.function, tree.Name):
        name = expr.function.name
        return _construct(
            name, written(expr.arguments), expr.function.span, scope, kind, what, choices
        )
    value = evaluate(expr, scope)
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, str):
        return _construct(value, (), expr.span, scope, kind, what, choices)
    if isinstance(value, Constructor):
        return known_constructor(value, expr.span, scope, kind, what, choices)
    title = f"expected {_article(what)} {what}, found `{show(value)}`"
    names = ", ".join(choices or known_names(kind))
    scope.report.error(
        "E0602", expr.span, title, f"not {_article(what)} {what}", notes=[f"{what}s: {names}"]
    )
    return UNKNOWN


def known_constructor(
    value: Constructor, span: Span, scope: Scope, kind: str, what: str, choices: Sequence[str] = ()
) -> Constructor | Unknown:
    """As `constructor`, for a word that came through a block's argument."""
    given = tuple(
        Valued(None if name.isdigit() else name, inner, span)
        for name, inner in value.settings.items()
    )
    return _construct(value.name, given, span, scope, kind, what, choices)


def report_unknown(owner: str, name: str, span: Span, known: Iterable[str], report: Report) -> None:
    """Say that `owner` has no setting `name`."""
    names = list(known)
    near = nearest(name, names)
    report.error(
        "E0601",
        span,
        f"`{owner}` has no setting `{name}`",
        "unknown",
        notes=[f"settings: {', '.join(names)}" if names else f"`{owner}` has no settings"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def typed(where: str, setting: Setting, expr: tree.Expr, scope: Scope) -> Evaluated:
    """Value of one written setting, of the kind that is due.

    Args:
        where: the setting's name for messages: `train.steps`.
    """
    if setting.kind == "constructor":
        if setting.optional and isinstance(expr, tree.Name) and expr.name == "none":
            return None
        value = evaluate(expr, scope) if isinstance(expr, tree.Name) else None
        if setting.optional and value is None and isinstance(expr, tree.Name):
            return None
        return constructor(expr, scope, "words", setting.name, setting.choices)
    if setting.kind == "dim":
        return _dim(where, expr, scope)
    value = evaluate(expr, scope, exact=setting.kind == "int")
    if isinstance(value, Unknown):
        return UNKNOWN
    if setting.kind in UNITS and unit_of(expr, scope) != UNITS[setting.kind]:
        _report_unit(where, setting.kind, expr, scope.report)
        return UNKNOWN
    if setting.kind not in UNITS and unit_of(expr, scope):
        title = f"`{where}` is {KIND_WORDS[setting.kind]}; `{expr.span.text}` has a unit"
        scope.report.error("E0602", expr.span, title, f"this is in {unit_of(expr, scope)}")
        return UNKNOWN
    if isinstance(value, str) and isinstance(expr, tree.Name) and setting.kind in ("int", "float"):
        _report_name(where, expr, scope)
        return UNKNOWN
    return fit(where, setting, value, expr.span, scope)


def fit(where: str, setting: Setting, value: SettingValue, span: Span, scope: Scope) -> Evaluated:
    """The value as the setting's kind has it, or a report that it does not fit."""
    if value is None and (setting.optional or setting.default is None):
        return None
    match setting.kind, value:
        case "int", int() if not isinstance(value, bool):
            return value
        case "float" | "duration", int() | float() if not isinstance(value, bool):
            return float(value)
        case ("bool", bool()) | ("string", str()) | ("list", tuple()) | ("value", _):
            return value
        case "bytes", int():
            return value
        case "word", str() if not setting.choices or value in setting.choices:
            return value
        case "word", str():
            report_choice(where, value, setting.choices, span, scope.report)
            return UNKNOWN
        case "constructor", Constructor():
            return known_constructor(value, span, scope, "words", setting.name, setting.choices)
        case _:
            title = f"`{where}` is {KIND_WORDS[setting.kind]}, not `{show(value)}`"
            scope.report.error("E0602", span, title, f"expected {KIND_WORDS[setting.kind]}")
            return UNKNOWN


def report_choice(
    where: str, value: str, choices: Sequence[str], span: Span, report: Report
) -> None:
    """Say that a word is none of those allowed."""
    near = nearest(value, choices)
    helps = [Help(f"did you mean `{near}`?", (Edit(span, near),), "likely")] if near else []
    title = f"`{where}` cannot be `{value}`"
    report.error(
        "E0603",
        span,
        title,
        "not one of the words",
        notes=[f"words: {', '.join(choices)}"],
        helps=helps,
    )


def report_later(name: str, instead: str, span: Span, report: Report) -> None:
    """Say that a name belongs to the language but not yet to this version."""
    report.error(
        "E0290",
        span,
        f"`{name}` is part of the language, and this version of specc cannot build it yet",
        "not built yet",
        helps=[instead] if instead else [],
    )


def unit_of(expr: tree.Expr, scope: Scope) -> str:
    """Unit of an expression: that of the first number with one, lets looked through."""
    match _behind_lets(expr, scope):
        case tree.Number(_, unit):
            return unit
        case tree.Group(inner) | tree.Negate(inner):
            return unit_of(inner, scope)
        case tree.Binary(_, left, right):
            return unit_of(left, scope) or unit_of(right, scope)
        case _:
            return ""


# ------------------------------------------------------------------------------------ pieces


def _by_name(
    owner: str,
    accepted: Sequence[Setting],
    given: Sequence[Written | Valued],
    report: Report,
    positional: Sequence[str],
) -> dict[str, Written | Valued] | Unknown:
    names = [setting.name for setting in accepted]
    named: dict[str, Written | Valued] = {}
    sound = True
    for position, item in enumerate(given):
        name = item.name
        if name is None and position < len(positional):
            name = positional[position]
        if name is None:
            takes = f"`{owner}` takes {', '.join(names)}" if names else f"`{owner}` takes nothing"
            title = f"`{owner}` takes no further setting without a name"
            report.error("E0611", item.span, title, "one too many", notes=[takes])
            sound = False
        elif name not in names:
            report_unknown(owner, name, item.span, names, report)
            sound = False
        elif name in named:
            also = [(named[name].span, "first here")]
            title = f"`{owner}` is given `{name}` twice"
            report.error("E0611", item.span, title, "again here", also=also)
            sound = False
        else:
            named[name] = item
    return named if sound else UNKNOWN


def _default(
    owner: str, setting: Setting, values: dict[str, SettingValue], span: Span, report: Report
) -> bool:
    if setting.default is not REQUIRED:
        values[setting.name] = setting.default  # pyright: ignore[reportArgumentType]
        return True
    report.error(
        "E0610",
        span,
        f"`{owner}` needs `{setting.name}`",
        "missing",
        helps=[f"add `{setting.name} = ...`: {KIND_WORDS.get(setting.kind, 'a value')}"],
    )
    return False


def _value(owner: str, setting: Setting, item: Written | Valued, scope: Scope) -> Evaluated:
    where = f"{owner}.{setting.name}"
    if isinstance(item, Written):
        value = typed(where, setting, item.expr, scope)
    else:
        value = fit(where, setting, item.value, item.span, scope)
    if setting.lowered or isinstance(value, Unknown) or value == setting.default:
        return value
    scope.report.error(
        "E0291",
        item.span,
        f"`{where}` is part of the language, and this version of specc cannot build it yet",
        "not built yet",
        helps=["leave it out for now"],
    )
    return UNKNOWN


def _construct(
    name: str,
    given: Sequence[Written | Valued],
    span: Span,
    scope: Scope,
    kind: str,
    what: str,
    choices: Sequence[str],
) -> Constructor | Unknown:
    record: Any = find(kind, name)
    if record is None or (choices and name not in choices):
        _report_word(name, what, choices or known_names(kind), span, scope.report)
        return UNKNOWN
    if isinstance(record, Later):
        report_later(name, record.instead, span, scope.report)
        return UNKNOWN
    settings = fill(name, record.settings, given, scope, span, getattr(record, "positional", ()))
    return UNKNOWN if isinstance(settings, Unknown) else Constructor(name, settings)


def _report_word(name: str, what: str, choices: Sequence[str], span: Span, report: Report) -> None:
    near = nearest(name, choices)
    helps = [Help(f"did you mean `{near}`?", (Edit(span, near),), "likely")] if near else []
    report.error(
        "E0603",
        span,
        f"unknown {what} `{name}`",
        f"not {_article(what)} {what}",
        notes=[f"{what}s: {', '.join(choices)}"],
        helps=helps,
    )


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _behind_lets(expr: tree.Expr, scope: Scope) -> tree.Expr:
    """The expression of the let that a plain name stands for, so that messages point into it."""
    seen: set[str] = set()
    definitions: Mapping[str, Any] = scope.names.definitions
    while (
        isinstance(expr, tree.Name)
        and expr.name not in scope.local
        and expr.name in definitions
        and expr.name not in seen
    ):
        seen.add(expr.name)
        expr = definitions[expr.name].expr
    return expr


def _dim(where: str, expr: tree.Expr, scope: Scope) -> Evaluated:
    """The name of a dim, which stays a name."""
    definition = scope.names.definitions.get(expr.name) if isinstance(expr, tree.Name) else None
    if isinstance(expr, tree.Name) and definition is not None and definition.is_size:
        return expr.name
    text = expr.span.text
    near = nearest(text, [n for n, d in scope.names.definitions.items() if d.is_size])
    helps = [f"did you mean `{near}`?"] if near else []
    scope.report.error(
        "E0201", expr.span, f"`{where}` is a dim, not `{text}`", "no dim", helps=helps
    )
    return UNKNOWN


def _report_unit(where: str, kind: str, expr: tree.Expr, report: Report) -> None:
    question, unit, example = UNIT_HELP[kind]
    text = expr.span.text
    bare = isinstance(expr, tree.Number) and not expr.unit
    title = (
        f"`{where}` is {KIND_WORDS[kind]}; {text} has no unit"
        if bare
        else (f"`{where}` is {KIND_WORDS[kind]}, not `{text}`")
    )
    helps = [f"write `{text}{unit}` or `{example}`"] if bare else [f"write it as `{example}`"]
    report.error("E0602", expr.span, title, question, helps=helps)


def _report_name(where: str, expr: tree.Name, scope: Scope) -> None:
    near = nearest(expr.name, [*scope.local, *scope.names.all])
    scope.report.error(
        "E0201",
        expr.span,
        f"unknown name `{expr.name}` in `{where}`",
        "neither a dim nor a let",
        helps=[f"did you mean `{near}`?"] if near else [],
    )
