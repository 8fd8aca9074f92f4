"""Applying functions of the vocabulary, and extern functions, to values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model
from specc.program.dims import show_shape
from specc.resolve.parts import report_later, report_unknown_setting
from specc.resolve.rearrange import definition_of
from specc.resolve.scope import Unresolved
from specc.resolve.types import check_dtype
from specc.vocabulary.record import Binding, FunctionRecord
from specc.vocabulary.signature import match, parse_signature, result_types

if TYPE_CHECKING:
    from specc.program.dims import Entry
    from specc.program.model import Given, Value, ValueType
    from specc.resolve.values import Values
    from specc.source import Span
    from specc.syntax import tree


def apply_function(
    values: Values,
    name: str,
    record: FunctionRecord | object | None,
    first: tuple[Value, ...],
    arguments: tuple[tree.Argument, ...],
    span: Span,
    name_span: Span,
) -> model.ApplyFunction:
    """A function applied to values, its letters bound and its settings kept as written."""
    if record is None:
        return _apply_extern(values, name, first, arguments, span)
    if not isinstance(record, FunctionRecord):
        report_later(name, getattr(record, "instead", ""), name_span, values.body.bound)
        raise Unresolved
    operands, settings, dims = _sort_arguments(values, record, first, arguments)
    types = tuple(values.type_of(value, span) for value in operands)
    if record.infer is not None:
        results = record.infer(types, dims, lambda dim: definition_of(values.body.bound, dim))
        if isinstance(results, str):
            values.report.error("E0211", span, f"`{name}`: {results}", _shown(types))
            raise Unresolved
        return model.ApplyFunction(name, operands, settings, dict(dims), results, span)
    binding = _match(values, record, types, span)
    results = result_types(parse_signature(record.takes), binding, _dtype(types))
    return model.ApplyFunction(name, operands, settings, binding.letters, results, span)


def _shown(types: tuple[ValueType, ...]) -> str:
    return "this is " + ", ".join(show_shape(kind.shape) for kind in types)


def _dtype(types: tuple[ValueType, ...]) -> str:
    kinds = {kind.dtype for kind in types if kind.dtype not in ("i64", "bool")}
    return kinds.pop() if len(kinds) == 1 else "float"


def _sort_arguments(
    values: Values,
    record: FunctionRecord,
    first: tuple[Value, ...],
    arguments: tuple[tree.Argument, ...],
) -> tuple[tuple[Value, ...], tuple[Given, ...], dict[str, Entry]]:
    """Values, settings as written, and the settings that name dims as entries."""
    bound = values.body.bound
    wanted = len(parse_signature(record.takes).operands) or 1  # with `infer` at least one
    operands = list(first)
    settings: list[Given] = []
    dims: dict[str, Entry] = {}
    spare = list(record.positional)
    specs = {setting.name: setting for setting in record.settings}
    for argument in arguments:
        if argument.name is None and (record.variadic or len(operands) < wanted or not spare):
            operands.append(values.read(argument.value))
            continue
        name = argument.name or spare.pop(0)
        if name not in specs:
            report_unknown_setting(record.name, argument, list(specs), bound)
            raise Unresolved
        if specs[name].kind == "dim":
            dims[name] = bound.entry(argument.value)
        elif not specs[name].lowered:
            _report_setting_later(values, record.name, name, argument)
            raise Unresolved
        settings.append(model.Given(name, argument.value, argument.span))
    return tuple(operands), tuple(settings), dims


def _report_setting_later(values: Values, owner: str, name: str, argument: tree.Argument) -> None:
    values.report.error(
        "E0291",
        argument.span,
        f"`{owner}({name} = ..)` is part of the language, "
        "and this version of specc cannot build it yet",
        "not built yet",
        helps=["write the function in Python and use it as an `extern`"],
    )


def _match(
    values: Values, record: FunctionRecord, types: tuple[ValueType, ...], span: Span
) -> Binding:
    signature = parse_signature(record.takes)
    if len(types) != len(signature.operands):
        wanted = ", ".join(f"{o.name} {o}".strip() for o in signature.operands)
        values.report.error(
            "E0210",
            span,
            f"`{record.name}` takes {len(signature.operands)} values, and is given {len(types)}",
            f"takes {wanted}",
        )
        raise Unresolved
    binding = Binding({})
    for operand, given in zip(signature.operands, types, strict=True):
        wrong = match(operand, given.shape, binding)
        if wrong is not None:
            which = f"`{operand.name}` of " if operand.name else ""
            notes = [] if wrong == "#" else [f"`{wrong}` is already bound by an argument before it"]
            values.report.error(
                "E0211",
                span,
                f"{which}`{record.name}` takes {operand} but is given {show_shape(given.shape)}",
                f"expected {operand}",
                notes=notes,
            )
            raise Unresolved
        wanted = model.ValueType(operand.dtype or "float", given.shape)
        check_dtype(values.report, record.name, wanted, given, span)
    return binding


def _apply_extern(
    values: Values,
    name: str,
    first: tuple[Value, ...],
    arguments: tuple[tree.Argument, ...],
    span: Span,
) -> model.ApplyFunction:
    body = values.body
    extern = body.bound.scope.externs[name]
    body.bound.scope.used.add(name)
    operands = [*first, *(values.read(a.value) for a in arguments if a.name is None)]
    named = [a for a in arguments if a.name is not None]
    if named:
        report_unknown_setting(name, named[0], [], body.bound)
        raise Unresolved
    types = [values.type_of(value, span) for value in operands]
    formals: dict[str, Entry] = {}
    inputs, results, _ = body.blocks.extern_types(extern, formals, types, body.bound, span)
    if [t.shape for t in inputs] != [t.shape for t in types]:
        wanted = ", ".join(show_shape(kind.shape) for kind in inputs)
        title = (
            f"`{name}` takes {wanted} but is given {', '.join(show_shape(t.shape) for t in types)}"
        )
        values.report.error("E0211", span, title, f"expected {wanted}")
        raise Unresolved
    return model.ApplyFunction(name, tuple(operands), (), formals, results, span, foreign=True)
