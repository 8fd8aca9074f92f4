"""Parts of a block: leaves of the vocabulary, blocks, externs, chains and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from specc.diagnostics import Edit, Help, nearest
from specc.program.model import Chain, Foreign, Given, Instance, Leaf, Parameter, PartList
from specc.resolve.scope import BlockHome, Bound, Unresolved
from specc.syntax import tree
from specc.vocabulary.find import find, known_names

if TYPE_CHECKING:
    from specc.program.dims import Entry
    from specc.source import Span
    from specc.vocabulary.record import PartRecord


@attrs.define(eq=False)
class BlockUse:
    """A block used as a part, its dims not all bound before its first call.

    Args:
        dims: bound by arguments.
        instance: the answer, once known.
    """

    home: BlockHome
    dims: dict[str, Entry]
    settings: tuple[Given, ...]
    span: Span
    instance: Instance | None = None


@attrs.define(eq=False)
class ExternUse:
    """An extern class used as a part, likewise."""

    extern: tree.Extern
    dims: dict[str, Entry]
    span: Span
    foreign: Foreign | None = None


@attrs.frozen(eq=False)
class ChainOf:
    """A chain before its blocks are settled."""

    items: tuple[Draft, ...]
    span: Span


@attrs.frozen(eq=False)
class ListOfParts:
    """A list before its blocks are settled."""

    items: tuple[Draft, ...]
    count: tree.Expr | None
    index: str | None
    span: Span


Draft: TypeAlias = "Leaf | BlockUse | ExternUse | ChainOf | ListOfParts"


def draft(expr: tree.Expr, bound: Bound) -> Draft:
    """The part that an expression says, blocks still to be settled."""
    match expr:
        case tree.Group(inner):
            return draft(inner, bound)
        case tree.Pipe():
            return ChainOf(tuple(draft(item, bound) for item in _chain(expr)), expr.span)
        case tree.Repeat():
            return _repeat(expr, bound)
        case tree.ListOf(items, span):
            return ListOfParts(tuple(draft(item, bound) for item in items), None, None, span)
        case tree.Name(name, span):
            return _named(name, (), span, span, bound)
        case tree.Call(tree.Name(name, name_span), arguments, span):
            return _named(name, arguments, span, name_span, bound)
        case _:
            bound.report.error(
                "E0224",
                expr.span,
                "expected a part: a block, a part of the vocabulary, a chain or a list",
                "not a part",
                helps=["values are written with `=`: `y = expr`"],
            )
            raise Unresolved


def _chain(expr: tree.Expr) -> list[tree.Expr]:
    items: list[tree.Expr] = []
    while isinstance(expr, tree.Pipe):
        items.append(expr.right)
        expr = expr.left
    return [expr, *reversed(items)]


def _repeat(expr: tree.Repeat, bound: Bound) -> ListOfParts:
    inner = bound
    if expr.index is not None:
        inner = attrs.evolve(bound, indices=bound.indices | {expr.index})
    body, count = expr.body, expr.count
    if isinstance(body, tree.Group) and isinstance(body.inner, tree.Pipe):
        # `repeat 4 (A -> B)` is one flat list of eight, numbered as checkpoints number them.
        items = _chain(body.inner)
        count = tree.Binary(
            "*", count, tree.Number(len(items), "", str(len(items)), body.span), expr.span
        )
    else:
        items = list(body.items) if isinstance(body, tree.ListOf) else [body]
    return ListOfParts(tuple(draft(item, inner) for item in items), count, expr.index, expr.span)


def _named(
    name: str, arguments: tuple[tree.Argument, ...], span: Span, name_span: Span, bound: Bound
) -> Draft:
    scope = bound.scope
    if name in scope.blocks:
        scope.used.add(name)
        return _block_use(scope.blocks[name], arguments, span, bound)
    if name in scope.externs:
        scope.used.add(name)
        return _extern_use(scope.externs[name], arguments, span, bound)
    record = find("parts", name)
    if record is not None and hasattr(record, "weights"):
        return leaf(record, arguments, span, bound)
    if record is not None:
        report_later(record.name, record.instead, name_span, bound)
    elif name not in scope.poisoned:
        _report_unknown(name, name_span, bound)
    raise Unresolved


def report_later(name: str, instead: str, span: Span, bound: Bound) -> None:
    """Say that a name belongs to the language but not yet to this version."""
    bound.report.error(
        "E0290",
        span,
        f"`{name}` is part of the language, and this version of specc cannot build it yet",
        "not built yet",
        helps=[instead] if instead else ["write it in Python and use it as an `extern`"],
    )


def _report_unknown(name: str, span: Span, bound: Bound) -> None:
    near = nearest(name, [*bound.scope.blocks, *bound.scope.externs, *known_names("parts")])
    helps = [Help(f"did you mean `{near}`?", (Edit(span, near),), "likely")] if near else []
    bound.report.error("E0202", span, f"unknown block `{name}`", "not declared", helps=helps)


def _block_use(
    home: BlockHome, arguments: tuple[tree.Argument, ...], span: Span, bound: Bound
) -> BlockUse:
    statics = {static.name: static for static in home.block.statics}
    dims: dict[str, Entry] = {}
    settings: list[Given] = []
    for argument in arguments:
        static = statics.get(argument.name or "")
        if static is None:
            _report_block_argument(home, argument, bound)
            raise Unresolved
        if static.kind is None:
            dims[static.name] = bound.entry(argument.value)
        else:
            settings.append(Given(static.name, argument.value, argument.span))
    return BlockUse(home, dims, tuple(settings), span)


def _report_block_argument(home: BlockHome, argument: tree.Argument, bound: Bound) -> None:
    names = [static.name for static in home.block.statics]
    takes = (
        f"`{home.block.name}` takes: {', '.join(names)}"
        if names
        else f"`{home.block.name}` takes none"
    )
    if argument.name is None:
        title = f"the arguments of block `{home.block.name}` are written by name"
        label, helps = "positional", ["values go to the part where it is used: `attn(x)`"]
    else:
        title = f"`{home.block.name}` has no dim or setting `{argument.name}`"
        near = nearest(argument.name, names)
        label, helps = "unknown", [f"did you mean `{near}`?"] if near else []
    span = argument.name_span or argument.span
    bound.report.error("E0601", span, title, label, notes=[takes], helps=helps)


def _extern_use(
    extern: tree.Extern, arguments: tuple[tree.Argument, ...], span: Span, bound: Bound
) -> ExternUse:
    names = {static.name for static in extern.statics}
    dims: dict[str, Entry] = {}
    for argument in arguments:
        if argument.name not in names:
            bound.report.error(
                "E0601",
                argument.span,
                f"`{extern.name}` has no dim `{argument.name or argument.span.text}`",
                "unknown",
                notes=[f"dims: {', '.join(sorted(names))}"],
            )
            raise Unresolved
        dims[argument.name] = bound.entry(argument.value)
    return ExternUse(extern, dims, span)


# ------------------------------------------------------------------------------------ leaves


def leaf(
    record: PartRecord, arguments: tuple[tree.Argument, ...], span: Span, bound: Bound
) -> Leaf:
    """A part of the vocabulary with its dims bound and its tensors known."""
    positional = [a for a in arguments if a.name is None]
    dims, rest = _leaf_dims(record, positional, span, bound)
    settings = _positional_settings(record, rest, bound)
    settings += [_leaf_setting(record, a, bound) for a in arguments if a.name is not None]
    given = {setting.name: setting for setting in settings}
    parameters = tuple(
        Parameter(weight.name, tuple(dims[letter] for letter in weight.dims), weight.init)
        for weight in record.weights
        if all(
            _is_on(record, word, given, bound)
            for word in (weight.when or "").split(" and ")
            if word
        )
    )
    if record.arguments == "shape":
        trained = record.name == "Param"
        parameters = (Parameter("", tuple(dims.values()), "normal", trained),)
    return Leaf(record.name, dims, tuple(settings), parameters, span)


def _leaf_dims(
    record: PartRecord, positional: list[tree.Argument], span: Span, bound: Bound
) -> tuple[dict[str, Entry], list[tree.Argument]]:
    if record.arguments == "none":
        return {}, positional
    first = positional[0].value if positional else None
    match record.arguments, first:
        case "arrow", tree.Pipe(left, right):
            return dict(
                zip(record.letters, (bound.entry(left), bound.entry(right)), strict=True)
            ), positional[1:]
        case "shape", tree.ListOf(items):
            return {str(i): bound.entry(item) for i, item in enumerate(items)}, positional[1:]
        case "one", first if first is not None and not isinstance(first, (tree.Pipe, tree.ListOf)):
            return {record.letters[0]: bound.entry(first)}, positional[1:]
        case _:
            pass
    _report_leaf_dims(record, positional, span, bound)
    raise Unresolved


def _report_leaf_dims(
    record: PartRecord, positional: list[tree.Argument], span: Span, bound: Bound
) -> None:
    usage = {"arrow": "in -> out", "one": "one dim", "shape": "a shape: `[heads]`"}[
        record.arguments
    ]
    helps: list[str | Help] = []
    if record.arguments == "arrow" and len(positional) >= 2:
        first, second = positional[0].value.span, positional[1].value.span
        better = f"{first.text} -> {second.text}"
        rest = span.source.text[second.end : span.end]
        edit = Edit(first.to(second), better)
        helps.append(Help(f"write `{record.name}({better}{rest}`", (edit,), "sure"))
    label = "no arrow here" if record.arguments == "arrow" else f"expected {usage}"
    code = "E0205"
    title = (
        f"`{record.name}` takes `{usage}`"
        if record.arguments == "arrow"
        else f"`{record.name}` takes {usage}"
    )
    bound.report.error(code, span, title, label, helps=helps)


def _positional_settings(
    record: PartRecord, rest: list[tree.Argument], bound: Bound
) -> list[Given]:
    if len(rest) > len(record.positional):
        extra = rest[len(record.positional)]
        names = ", ".join(s.name for s in record.settings) or "none"
        bound.report.error(
            "E0210",
            extra.span,
            f"`{record.name}` takes no further argument without a name",
            "one too many",
            notes=[f"settings: {names}"],
        )
        raise Unresolved
    return [Given(name, a.value, a.span) for name, a in zip(record.positional, rest, strict=False)]


def _leaf_setting(record: PartRecord, argument: tree.Argument, bound: Bound) -> Given:
    assert argument.name is not None
    names = [setting.name for setting in record.settings]
    if (
        argument.name not in names
        and not (argument.name == "init" and record.weights)
        and not (argument.name == "init" and record.arguments == "shape")
    ):
        report_unknown_setting(record.name, argument, names, bound)
        raise Unresolved
    return Given(argument.name, argument.value, argument.span)


def report_unknown_setting(
    owner: str, argument: tree.Argument, names: list[str], bound: Bound
) -> None:
    """Say that `owner` has no such setting, and which it has."""
    assert argument.name is not None
    near = nearest(argument.name, names)
    bound.report.error(
        "E0601",
        argument.name_span or argument.span,
        f"`{owner}` has no setting `{argument.name}`",
        "unknown",
        notes=[f"settings: {', '.join(names)}" if names else f"`{owner}` has no settings"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _is_on(record: PartRecord, name: str, given: dict[str, Given], bound: Bound) -> bool:
    """Value of a switch that decides which tensors a part has; it must be written out."""
    if name not in given:
        setting = next(setting for setting in record.settings if setting.name == name)
        return bool(setting.default)
    expr = given[name].expr
    if isinstance(expr, tree.Name) and expr.name in ("true", "false"):
        return expr.name == "true"
    bound.report.error(
        "E0603",
        expr.span,
        f"`{record.name}.{name}` decides which parameters exist: write `true` or `false`",
        "neither `true` nor `false`",
    )
    raise Unresolved


def settled(part: Draft) -> Leaf | Instance | Foreign | Chain | PartList:
    """The part with every block settled; `Blocks.apply` or `settle` must have run before."""
    match part:
        case Leaf():
            return part
        case BlockUse():
            assert part.instance is not None
            return part.instance
        case ExternUse():
            assert part.foreign is not None
            return part.foreign
        case ChainOf():
            return Chain(tuple(settled(item) for item in part.items), part.span)
        case ListOfParts():
            items = tuple(settled(item) for item in part.items)
            return PartList(items, part.count, part.index, part.span)


def uses(part: Draft) -> list[BlockUse | ExternUse]:
    """Every block or extern use inside a part."""
    match part:
        case BlockUse() | ExternUse():
            return [part]
        case ChainOf(items) | ListOfParts(items):
            return [use for item in items for use in uses(item)]
        case _:
            return []


def has_parameters(part: Draft) -> bool:
    """Whether a part may hold tensors of its own."""
    match part:
        case Leaf():
            return bool(part.parameters)
        case ChainOf(items) | ListOfParts(items):
            return any(has_parameters(item) for item in items)
        case _:
            return True
