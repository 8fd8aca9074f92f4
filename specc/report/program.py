"""A Program as people read it: names resolved, shapes and types known, sizes as written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model
from specc.program.dims import show, show_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.program.program import Program
    from specc.source import Span


def program_text(program: Program) -> str:
    """Every declaration and every class that the model uses; ends in a line end."""
    sections = [
        _names(program),
        *(_class(block, is_model=key == program.model) for key, block in program.classes.items()),
        _run(program),
    ]
    lines = [f"program {program.name}"]
    for section in sections:
        found = list(section)
        if found:
            lines += ["", *found]
    return "\n".join(lines) + "\n"


def type_text(kind: model.ValueType) -> str:
    """`i64[B, S]`; the dtype that precision rules decide is not written."""
    dtype = "" if kind.dtype == "float" else kind.dtype
    return f"{dtype}{show_shape(kind.shape)}"


def one_line(span: Span) -> str:
    """The text of a place without its line ends."""
    lines = [line.partition("#")[0].strip() for line in span.text.splitlines()]
    return " ".join(line for line in lines if line)


def signature(block: model.BlockClass) -> str:
    """`Attention(x: [B, S, d]) -> [B, S, d]`."""
    inputs = ", ".join(f"{name}: {type_text(kind)}" for name, kind in block.inputs)
    results = ", ".join(
        f"{name}: {type_text(kind)}" if name else type_text(kind) for name, kind in block.results
    )
    return f"{block.key}({inputs}) -> {results}"


def _names(program: Program) -> Iterator[str]:
    for dim in program.dims.values():
        yield f"dim {dim.name} = {one_line(dim.size.span)}"
    for constant in program.lets.values():
        yield f"let {constant.name} = {one_line(constant.value.span)}"


def _class(block: model.BlockClass, *, is_model: bool) -> Iterator[str]:
    yield f"{'model' if is_model else 'block'} {signature(block)}  {block.span.place}"
    entries = {name: show(entry) for name, entry in block.binding.items()}
    bound = [f"{name} = {text}" for name, text in entries.items() if text != name]
    if bound:
        yield f"  with {', '.join(bound)}"
    for part in block.parts:
        yield f"  {part.name}: {what_text(part.what)}"
    for statement in block.statements:
        yield f"  {_statement(statement)}"
    for tie in block.ties:
        yield f"  tie {'.'.join(tie.left)} = {'.'.join(tie.right)}"


def what_text(what: model.What) -> str:
    """What a part is: `Linear[I = d, O = ff]`, `repeat depth Block`, `Linear -> GELU -> Linear`."""
    match what:
        case model.Chain():
            return " -> ".join(what_text(item) for item in what.items)
        case model.PartList():
            items = ", ".join(what_text(item) for item in what.items)
            several = f"[{items}]" if len(what.items) > 1 or what.count is None else items
            return (
                several if what.count is None else f"repeat {one_line(what.count.span)} {several}"
            )
        case _:
            return one_line(what.span)


def _statement(statement: model.Statement) -> str:
    if isinstance(statement, model.Return):
        return f"return {', '.join(_value(value) for value in statement.values)}"
    return f"{', '.join(statement.names)} = {_value(statement.value)}"


def _value(value: model.Value) -> str:
    return f"{one_line(value.span)} : {', '.join(value_types(value))}"


def value_types(value: model.Value) -> list[str]:
    """Types of the results of a value."""
    if isinstance(value, model.Scalar):
        return ["number"]
    if isinstance(value, model.ApplyPart | model.ApplyFunction):
        return [type_text(kind) for kind in value.types]
    return [type_text(value.type)]


def _run(program: Program) -> Iterator[str]:
    if program.mesh is not None:
        yield one_line(program.mesh.span)
    for layout in program.layouts.values():
        yield f"layout {layout.name or ''}".rstrip()
        for rule in layout.rules:
            yield f"  {' '.join(one_line(rule.span).split())}"
    if program.train is None:
        return
    yield "train"
    for field in program.train.fields:
        yield f"  data {field.name}: {type_text(field.type)} from {one_line(field.source.span)}"
    for term in program.train.loss:
        yield f"  loss {one_line(term.span)}"
    for path, setting in program.train.settings.items():
        yield f"  {path} = {one_line(setting.value.span)}"
    for rule in program.train.rules:
        yield f"  {one_line(rule.span)}"
