"""What an extern declares besides shapes: its place, its arguments, dims to split, targets."""

from __future__ import annotations

from keyword import iskeyword
from typing import TYPE_CHECKING

from specc.check.expressions import evaluate
from specc.check.names import Unknown
from specc.check.settings import report_unknown
from specc.check.texts import names_in
from specc.diagnostics import nearest
from specc.syntax import tree
from specc.vocabulary.record import Constructor, SettingValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specc.check.expressions import Scope
    from specc.diagnostics import Report
    from specc.plan.externs import ExternUse
    from specc.plan.facts import Facts
    from specc.program.program import Extern, Program
    from specc.source import Span
    from specc.targets import Target

SETTINGS = ("call", "flops", "needs")


def check_externs(program: Program, targets: Mapping[str, Target], report: Report) -> None:
    """Report what no extern can mean, whether something uses it or not."""
    for extern in program.externs.values():
        declared = extern.declaration
        _check_path(declared.path, report)
        _check_dims(declared, report)
        _check_pieces(declared, report)
        _check_order(declared, report)
        names = {*(static.name for static in declared.statics), *program.dims, *program.lets}
        for setting in declared.settings:
            _check_setting(declared.name, setting, targets, report)
            if setting.paths == (("flops",),):
                _check_count(setting.value, names, report)
        if extern.is_function and (declared.init is not None or declared.weights):
            report.error(
                "E0506",
                declared.name_span,
                f"`{declared.name}` is a function, and has `init`, `param` or `buffer` lines",
                "functions hold nothing",
                helps=["leave them out, or leave out `call = function`"],
            )


def init_values(
    declared: tree.Extern, sizes: Mapping[str, int], scope: Scope
) -> dict[str, SettingValue]:
    """Arguments of an extern's constructor by name, or by position as text: `{"0": 4096}`.

    Args:
        sizes: of the extern's own dims.
    """
    inner = scope.within(sizes)
    found: dict[str, SettingValue] = {}
    for position, argument in enumerate(declared.init or ()):
        value = evaluate(argument.value, inner)
        if isinstance(value, Unknown):
            continue
        if isinstance(value, Constructor) or _is_unknown_name(argument.value, value):
            _report_value(argument, [*sizes, *scope.names.all], scope.report)
            continue
        found[argument.name or str(position)] = value
    return found


def needed_targets(declared: tree.Extern) -> tuple[tuple[str, ...], Span] | None:
    """Targets that an extern runs on and where that is said; None for all."""
    for setting in declared.settings:
        if setting.paths == (("needs",),):
            return tuple(name.name for name in _words(setting.value)), setting.span
    return None


def check_uses(facts: Facts, uses: Iterable[ExternUse], report: Report) -> None:
    """Report externs used as what they are not, or on a target that they do not run on."""
    for use in uses:
        extern = facts.program.externs[use.extern]
        if use.is_call != extern.is_function:
            _report_kind(use, extern, report)
        needed = needed_targets(extern.declaration)
        if needed is not None and facts.target.name not in needed[0]:
            report.error(
                "E0702",
                needed[1],
                f"`{use.extern}` needs {' or '.join(needed[0])}, the target is {facts.target.name}",
                "declared here",
                also=[(use.span, "used here")],
                helps=["use a part of specc in its place: it runs on every target"],
            )


def _report_kind(use: ExternUse, extern: Extern, report: Report) -> None:
    if extern.is_function:
        title = f"`{use.extern}` is a function, and is used as a part"
        way = f"apply it where its value is due: `y = {use.extern}(x)`"
    else:
        title = f"`{use.extern}` is a class, and is applied like a function"
        way = f"make it a part, and apply that: `own: {use.extern}`, `y = own(x)`"
    also = [(extern.declaration.name_span, "declared here")]
    report.error("E0507", use.span, title, "used here", also=also, helps=[way])


# -------------------------------------------------------------------------------- declarations


def _check_path(path: tree.Text, report: Report) -> None:
    module, colon, name = path.value.partition(":")
    words = [*module.split("."), name]
    if colon and all(word.isidentifier() and not iskeyword(word) for word in words):
        return
    report.error(
        "E0505",
        path.span,
        f'"{path.value}" does not name something to import',
        "not `package.module:Name`",
        helps=['write the module, a colon and the name in it: "mylab.mixers:Mixer"'],
    )


def _check_dims(declared: tree.Extern, report: Report) -> None:
    names = [static.name for static in declared.statics]
    for word, dims in (("split", declared.split), ("sum", declared.sum)):
        for dim in dims:
            if dim.name in names:
                continue
            near = nearest(dim.name, names)
            report.error(
                "E0201",
                dim.span,
                f"`{declared.name}` has no dim `{dim.name}` to {word}",
                "not in its [ ]",
                notes=[f"its dims: {', '.join(names)}" if names else "it has no dims"],
                helps=[f"did you mean `{near}`?"] if near else [],
            )


def _check_pieces(declared: tree.Extern, report: Report) -> None:
    """Report dims whose pieces could not give the results that are declared."""
    names = {static.name for static in declared.statics}
    split = {dim.name for dim in declared.split}
    for result in declared.results:
        shown, has = result.type.span.text, _dims_of(result.type)
        faults = [
            (
                dim,
                f"works on a piece of `{dim.name}`, and its result {shown} has no `{dim.name}`",
                "each piece would have a result of its own",
                f"write `sum {dim.name}` if these add up, else leave `{dim.name}` out",
            )
            for dim in declared.split
            if dim.name in names - has
        ]
        faults += [
            (
                dim,
                f"adds up over `{dim.name}`, and its result {shown} has `{dim.name}`",
                "summed here",
                f"write `split {dim.name}` if it works on a piece alone",
            )
            for dim in declared.sum
            if dim.name in has - split
        ]
        also = [(result.type.span, "the result")]
        for dim, does, label, way in faults:
            title = f"`{declared.name}` {does}"
            report.error("E0508", dim.span, title, label, also=also, helps=[way])
    for dim in (d for d in declared.sum if d.name in split):
        title = f"`{declared.name}` lists `{dim.name}` under `split` and under `sum`"
        also = [(next(d.span for d in declared.split if d.name == dim.name), "split here")]
        way = "keep `split` if the result has it, else `sum`"
        report.error("E0508", dim.span, title, "summed here", also=also, helps=[way])


def _dims_of(kind: tree.Type) -> set[str]:
    """Every dim of a written type."""
    entries = (entry for entry in kind.shape.entries if not isinstance(entry, tree.Others))
    return {name for entry in entries for name in names_in(entry)}


def _check_order(declared: tree.Extern, report: Report) -> None:
    """Report arguments that Python does not take."""
    seen: dict[str, Span] = {}
    for argument in declared.init or ():
        name = argument.name
        if name is None and seen:
            title = "an argument without a name stands after one with a name"
            report.error("E0506", argument.span, title, "Python does not take it here")
        elif name is not None and (name in seen or iskeyword(name)):
            why = "is given twice" if name in seen else "is a word of Python"
            also = [(seen[name], "first here")] if name in seen else []
            report.error(
                "E0506",
                argument.name_span or argument.span,
                f"the argument `{name}` {why}",
                "cannot be passed",
                also=also,
            )
        if name is not None:
            seen.setdefault(name, argument.span)


def _check_setting(
    owner: str, setting: tree.Setting, targets: Mapping[str, Target], report: Report
) -> None:
    name = ".".join(setting.paths[0])
    span = setting.value.span
    if name not in SETTINGS:
        report_unknown(owner, name, setting.path_spans[0], SETTINGS, report)
    elif name == "call" and span.text != "function":
        title = f"`call` is `function` or left out, not `{span.text}`"
        report.error("E0603", span, title, "not a way to call", notes=["ways: function"])
    elif name == "needs":
        words = _words(setting.value)
        wrong = [word for word in words if word.name not in targets]
        if wrong or not words:
            near = nearest(wrong[0].name, targets) if wrong else None
            report.error(
                "E0608",
                wrong[0].span if wrong else span,
                f"unknown target `{wrong[0].name if wrong else span.text}`",
                "not a target",
                notes=[f"targets: {', '.join(targets)}"],
                helps=[f"did you mean `{near}`?"] if near else [],
            )


def _check_count(value: tree.Expr, names: set[str], report: Report) -> None:
    """Report names in an expression that stand for nothing."""
    for name in sorted(names_in(value) - names):
        near = nearest(name, names)
        helps = [f"did you mean `{near}`?"] if near else []
        title = f"unknown dimension `{name}`"
        report.error("E0201", value.span, title, "not declared", helps=helps)


def _words(value: tree.Expr) -> tuple[tree.Name, ...]:
    items = value.items if isinstance(value, tree.ListOf) else (value,)
    return tuple(item for item in items if isinstance(item, tree.Name))


# ----------------------------------------------------------------------------------- arguments


def _is_unknown_name(expr: tree.Expr, value: SettingValue) -> bool:
    """Whether an expression has a name in it that stands for nothing, and so is a bare word."""
    if isinstance(expr, tree.ListOf) and isinstance(value, tuple):
        pairs = zip(expr.items, value, strict=True)
        return any(_is_unknown_name(item, inner) for item, inner in pairs)
    return isinstance(expr, tree.Name) and value == expr.name


def _report_value(argument: tree.Argument, names: list[str], report: Report) -> None:
    text = argument.value.span.text
    near = nearest(text, names)
    report.error(
        "E0506",
        argument.value.span,
        f"`{text}` is no number, text or list",
        "neither a dim nor a constant",
        helps=[f"did you mean `{near}`?" if near else f'a text stands in quotes: "{text}"'],
    )
