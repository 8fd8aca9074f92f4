"""The `train` block: data fields with types, loss terms with names, settings by dotted path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.diagnostics import Edit, Help, nearest
from specc.program.dims import show_shape
from specc.program.program import Field, LossTerm, Train
from specc.resolve.parts import report_later
from specc.resolve.scope import Bound, Unresolved
from specc.resolve.types import value_type
from specc.resolve.values import scalar_names
from specc.syntax import tree
from specc.vocabulary.find import find, known_names
from specc.vocabulary.record import Binding, LossRecord
from specc.vocabulary.signature import match, parse_signature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.program.model import BlockClass, ValueType


def flatten(attrs: Iterable[tree.Attr], bound: Bound, prefix: str = "") -> dict[str, tree.Setting]:
    """Settings of a block by dotted path; a path set twice is reported."""
    found: dict[str, tree.Setting] = {}
    for attr in attrs:
        if isinstance(attr, tree.Nested):
            inner = flatten(attr.attrs, bound, prefix + ".".join(attr.path) + ".")
            pairs = [(path, setting, setting.path_spans[0]) for path, setting in inner.items()]
        else:
            pairs = [
                (prefix + ".".join(path), attr, span)
                for path, span in zip(attr.paths, attr.path_spans, strict=True)
            ]
        for path, setting, span in pairs:
            if path in found:
                first = found[path].path_spans[0]
                title = f"`{path}` is set twice"
                bound.report.error("E0203", span, title, "again here", also=[(first, "first here")])
            else:
                found[path] = setting
    return found


def resolve_train(train: tree.Train, model: BlockClass | None, bound: Bound) -> Train | None:
    """The `train` block with its names resolved against the model; None if something was wrong."""
    settings = flatten(train.attrs, bound)
    fields = _fields(settings, model, bound)
    loss: tuple[LossTerm, ...] | None = None
    if "loss" in settings and model is not None and fields is not None:
        loss = _loss(settings["loss"].value, model, fields, bound)
    elif "loss" not in settings and "train" not in bound.scope.incomplete:
        bound.report.error(
            "E0620",
            train.span,
            "`train` says no loss",
            "no `loss = ...`",
            helps=["add one, such as `loss = cross_entropy(logits, labels)`"],
        )
    if fields is None or loss is None:
        return None
    rest = {
        path: s for path, s in settings.items() if path != "loss" and not path.startswith("data.")
    }
    return Train(tuple(fields.values()), loss, rest, train.rules, train.span)


# ---------------------------------------------------------------------------------------- data


def _fields(
    settings: dict[str, tree.Setting], model: BlockClass | None, bound: Bound
) -> dict[str, Field] | None:
    inputs = dict(model.inputs) if model is not None else {}
    fields: dict[str, Field] = {}
    sound = True
    for path, setting in settings.items():
        if not path.startswith("data."):
            continue
        name = path.removeprefix("data.")
        group = tuple(".".join(p) for p in setting.paths)
        position = group.index(name) if name in group else 0
        span = setting.path_spans[position]
        kind = _field_type(name, setting, inputs, bound)
        if kind is None:
            sound = False
            continue
        fields[name] = Field(name, kind, setting.value, group, position, span)
    for name in inputs:
        if name not in fields and "train" in bound.scope.incomplete:
            sound = False
        if name not in fields and sound and model is not None:
            sound = False
            bound.report.error(
                "E0621",
                model.span,
                f"the model's input `{name}` is no field of `train.data`",
                f"takes `{name}: {show_shape(inputs[name].shape)}`",
                notes=[f"fields: {', '.join(fields) or 'none'}"],
                helps=[f"add `{name} = ...` to `train {{ data {{ .. }} }}`"],
            )
    return fields if sound else None


def _field_type(
    name: str, setting: tree.Setting, inputs: dict[str, ValueType], bound: Bound
) -> ValueType | None:
    if setting.type is not None:
        try:
            return value_type(setting.type, bound)
        except Unresolved:
            return None
    if name in inputs:
        return inputs[name]
    if len(setting.paths) > 1:
        # `ids, labels = tokens(..)`: all fields of one source have the type of the one that the
        # model takes
        for path in setting.paths:
            other = inputs.get(".".join(path))
            if other is not None:
                return other
    near = nearest(name, inputs)
    helps = [f"did you mean `{near}`?"] if near else [f"give it a type: `{name}: [..] = ...`"]
    bound.report.error(
        "E0622",
        setting.path_spans[0],
        f"nothing says the shape of `{name}`",
        "not an input of the model",
        notes=[f"inputs of the model: {', '.join(inputs)}"],
        helps=helps,
    )
    return None


# ---------------------------------------------------------------------------------------- loss


def _loss(
    expr: tree.Expr, model: BlockClass, fields: dict[str, Field], bound: Bound
) -> tuple[LossTerm, ...] | None:
    values = {name: kind for name, kind in model.results if name is not None}
    values.update({name: field.type for name, field in fields.items()})
    try:
        return tuple(_terms(expr, None, values, model, bound))
    except Unresolved:
        return None


def _terms(
    expr: tree.Expr,
    factor: tree.Expr | None,
    values: dict[str, ValueType],
    model: BlockClass,
    bound: Bound,
) -> list[LossTerm]:
    match expr:
        case tree.Group(inner):
            return _terms(inner, factor, values, model, bound)
        case tree.Binary("+", left, right):
            return [
                *_terms(left, factor, values, model, bound),
                *_terms(right, factor, values, model, bound),
            ]
        case tree.Binary("*", left, right) if _is_number(left, bound):
            return _terms(right, _times(factor, left), values, model, bound)
        case tree.Binary("*", left, right) if _is_number(right, bound):
            return _terms(left, _times(factor, right), values, model, bound)
        case tree.Call(tree.Name(name, span), arguments, call_span):
            record = find("losses", name)
            if isinstance(record, LossRecord):
                return [_term(record, arguments, factor, values, model, call_span, bound)]
            if record is not None:
                report_later(name, record.instead, span, bound)
            elif name in bound.scope.externs:
                title = f"`{name}` is an extern, and a loss is a name of the vocabulary"
                way = "apply it in the model, name its result and write `loss = mean(NAME)`"
                bound.report.error("E0604", span, title, "not a loss", helps=[way])
            else:
                near = nearest(name, known_names("losses"))
                helps = (
                    [Help(f"did you mean `{near}`?", (Edit(span, near),), "likely")] if near else []
                )
                title, notes = (
                    f"unknown loss `{name}`",
                    [f"losses: {', '.join(known_names('losses'))}"],
                )
                bound.report.error("E0604", span, title, "not a loss", notes=notes, helps=helps)
            raise Unresolved
        case _:
            bound.report.error(
                "E0604",
                expr.span,
                "a loss is a call, or a sum of calls with number factors",
                "neither",
                helps=["write `loss = cross_entropy(logits, labels)`"],
            )
            raise Unresolved


def _is_number(expr: tree.Expr, bound: Bound) -> bool:
    if isinstance(expr, tree.Number):
        return True
    if isinstance(expr, (tree.Name, tree.Negate, tree.Group, tree.Binary)):
        names = scalar_names(expr)
        known = all(n in bound.scope.lets or bound.is_dim(n) for n in names)
        bound.scope.used.update(names if known else ())
        return known
    return False


def _times(factor: tree.Expr | None, more: tree.Expr) -> tree.Expr:
    return more if factor is None else tree.Binary("*", factor, more, more.span)


def _term(
    record: LossRecord,
    arguments: tuple[tree.Argument, ...],
    factor: tree.Expr | None,
    values: dict[str, ValueType],
    model: BlockClass,
    span: tree.Span,
    bound: Bound,
) -> LossTerm:
    names = tuple(_loss_value(a, values, model, bound) for a in arguments if a.name is None)
    operands = parse_signature(record.takes).operands
    if len(names) != len(operands):
        wanted = ", ".join(o.name for o in operands)
        title = f"`{record.name}` takes {len(operands)} values, and is given {len(names)}"
        bound.report.error("E0210", span, title, f"takes {wanted}")
        raise Unresolved
    binding = Binding({})
    for name, operand in zip(names, operands, strict=True):
        kind = values[name]
        integers = operand.dtype == "i64"
        if match(operand, kind.shape, binding) is not None or integers != (kind.dtype == "i64"):
            bound.report.error(
                "E0211",
                span,
                f"`{operand.name}` of `{record.name}` is {operand}, and `{name}` is "
                f"{'' if kind.dtype == 'float' else kind.dtype}{show_shape(kind.shape)}",
                f"expected {operand}",
            )
            raise Unresolved
    known = {setting.name for setting in record.settings}
    for argument in arguments:
        if argument.name is not None and argument.name not in known:
            _report_setting(record, argument, bound)
            raise Unresolved
    settings = tuple(a for a in arguments if a.name is not None)
    return LossTerm(record.name, names, settings, factor, tuple(values[n] for n in names), span)


def _report_setting(record: LossRecord, argument: tree.Argument, bound: Bound) -> None:
    names = [setting.name for setting in record.settings]
    near = nearest(argument.name or "", names)
    bound.report.error(
        "E0601",
        argument.name_span or argument.span,
        f"`{record.name}` has no setting `{argument.name}`",
        "unknown",
        notes=[f"settings: {', '.join(names)}" if names else "it has none"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _loss_value(
    argument: tree.Argument, values: dict[str, ValueType], model: BlockClass, bound: Bound
) -> str:
    expr = argument.value
    if isinstance(expr, tree.Name) and expr.name in values:
        return expr.name
    if isinstance(expr, tree.Name):
        near = nearest(expr.name, values)
        bound.report.error(
            "E0604",
            expr.span,
            f"unknown value `{expr.name}` in the loss",
            f"not an output of `{model.name}` nor a field of `data`",
            notes=[f"values here: {', '.join(values)}"],
            helps=[f"did you mean `{near}`?"] if near else [],
        )
    else:
        bound.report.error(
            "E0604",
            expr.span,
            "a loss takes the model's results and data fields by name",
            "not a name",
            helps=["compute it in the model and give the result a name"],
        )
    raise Unresolved
