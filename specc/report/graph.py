"""Drawings of a model: its blocks as a tree, or the flow of values with their shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from specc.program import model
from specc.program.dims import show_shape
from specc.report.program import signature, type_text, what_text

if TYPE_CHECKING:
    from specc.program.program import Program


@attrs.frozen
class Node:
    """A value's source: an input, a part, a function, an operation, or the result.

    Args:
        key: unique in the drawing.
        kind: `value` for inputs and results, else `step`.
    """

    key: str
    label: str
    kind: str


@attrs.frozen
class Edge:
    """A value on its way; the label is its type."""

    source: str
    target: str
    label: str


@attrs.frozen
class Drawing:
    """The flow of values in one class."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


# ------------------------------------------------------------------------------------------ text


def tree_text(program: Program) -> str:
    """The model's parts, those of every block below its first use; ends in a line end."""
    assert program.model is not None
    shown: set[str] = set()
    return "\n".join(_class_lines(program, program.model, 0, shown)) + "\n"


def _class_lines(program: Program, key: str, depth: int, shown: set[str]) -> Iterator[str]:
    block = program.classes[key]
    pad = "  " * depth
    yield f"{pad}{signature(block)}"
    if key in shown:
        return
    shown.add(key)
    width = max((len(part.name) for part in block.parts), default=0)
    for part in block.parts:
        yield f"{pad}  {part.name:{width}}  {what_text(part.what)}"
        for inner in dict.fromkeys(_blocks_of(part.what)):
            if inner not in shown:
                yield from _class_lines(program, inner, depth + 2, shown)
    for tie in block.ties:
        yield f"{pad}  {'.'.join(tie.left)} is {'.'.join(tie.right)}"


def _blocks_of(what: model.What) -> Iterator[str]:
    match what:
        case model.Instance(block):
            yield block
        case model.Chain(items) | model.PartList(items):
            for item in items:
                yield from _blocks_of(item)
        case _:
            pass


# ------------------------------------------------------------------------------------------ flow


def drawings(program: Program) -> tuple[Drawing, ...]:
    """The flow of every class that the model uses, the model first."""
    classes = list(program.classes.values())
    return tuple(_Flow(block, index).drawing() for index, block in enumerate(reversed(classes)))


class _Flow:
    """Draws one class."""

    def __init__(self, block: model.BlockClass, index: int) -> None:
        self.block = block
        self.prefix = f"c{index}"
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.values: dict[str, str] = {}

    def drawing(self) -> Drawing:
        """Nodes and edges of all statements."""
        for name, _ in self.block.inputs:
            self.values[name] = self._node(name, "value")
        for statement in self.block.statements:
            if isinstance(statement, model.Assign):
                source = self._draw(statement.value)
                self.values.update(dict.fromkeys(statement.names, source))
            else:
                self._results(statement)
        return Drawing(signature(self.block), tuple(self.nodes), tuple(self.edges))

    def _results(self, statement: model.Return) -> None:
        for number, value in enumerate(statement.values):
            name = self.block.results[number][0] if number < len(self.block.results) else None
            target = self._node(name or "result", "value")
            self._edge(value, target)

    def _node(self, label: str, kind: str = "step") -> str:
        key = f"{self.prefix}_{len(self.nodes)}"
        self.nodes.append(Node(key, label, kind))
        return key

    def _edge(self, value: model.Value, target: str) -> None:
        """Draw a value and the way it takes; numbers have none."""
        if not isinstance(value, model.Scalar):
            label = ", ".join(_types(value))
            self.edges.append(Edge(self._draw(value), target, label))

    def _draw(self, value: model.Value) -> str:
        """The node that a value comes from."""
        match value:
            case model.Ref(name):
                return self.values[name]
            case model.PartValue(part):
                return self._part(part)
            case model.Scalar():
                return self._node("number")
            case _:
                node = self._node(self._label(value))
                for operand in _operands(value):
                    self._edge(operand, node)
                return node

    def _part(self, name: str) -> str:
        return self._node(f"{name}: {what_text(self.block.part(name).what)}")

    def _label(self, value: model.Value) -> str:
        match value:
            case model.ApplyPart(part):
                return f"{part}: {what_text(self.block.part(part).what)}"
            case model.ApplyFunction(function):
                return function
            case model.Arithmetic(op, left, right):
                sides = [s.span.text for s in (left, right) if isinstance(s, model.Scalar)]
                sign = "-" if op == "neg" else op
                return f"{sign} {sides[0]}" if sides else sign
            case model.Rearrange():
                return f"as {show_shape(value.type.shape)}"
            case model.Cast():
                return f"as {value.type.dtype}"
            case _:
                return "value"


def _operands(value: model.Value) -> tuple[model.Value, ...]:
    match value:
        case model.ApplyPart() | model.ApplyFunction():
            return value.arguments
        case model.Arithmetic(_, left, right):
            return (left,) if right is None else (left, right)
        case model.Rearrange(inner) | model.Cast(inner):
            return (inner,)
        case _:
            return ()


def _types(value: model.Value) -> list[str]:
    if isinstance(value, model.ApplyPart | model.ApplyFunction):
        return [type_text(kind) for kind in value.types]
    return [] if isinstance(value, model.Scalar) else [type_text(value.type)]


# ------------------------------------------------------------------------------------------ forms


def mermaid_text(program: Program) -> str:
    """The flow as a flowchart of Mermaid.

    Source: mermaid.js.org/syntax/flowchart.html; text in quotes, quotes as entities.
    """
    lines = ["flowchart TD"]
    for number, drawing in enumerate(drawings(program)):
        lines.append(f'  subgraph b{number}["{_entities(drawing.title)}"]')
        for node in drawing.nodes:
            left, right = ("([", "])") if node.kind == "value" else ("[", "]")
            lines.append(f'    {node.key}{left}"{_entities(node.label)}"{right}')
        lines += [
            f'    {edge.source} -->|"{_entities(edge.label)}"| {edge.target}'
            for edge in drawing.edges
        ]
        lines.append("  end")
    return "\n".join(lines) + "\n"


def _entities(text: str) -> str:
    """Text that Mermaid shows as it is."""
    for sign, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, entity)
    return text


def dot_text(program: Program) -> str:
    """The flow in the language of Graphviz.

    Source: graphviz.org/doc/info/lang.html; in quoted text only the quote is escaped.
    """
    lines = [f'digraph "{_quoted(program.name)}" {{', "  node [shape=box];"]
    for number, drawing in enumerate(drawings(program)):
        lines += [f"  subgraph cluster_{number} {{", f'    label="{_quoted(drawing.title)}";']
        lines += [f"    {_dot_node(node)}" for node in drawing.nodes]
        lines += [
            f'    {edge.source} -> {edge.target} [label="{_quoted(edge.label)}"];'
            for edge in drawing.edges
        ]
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_node(node: Node) -> str:
    shape = " shape=oval" if node.kind == "value" else ""
    return f'{node.key} [label="{_quoted(node.label)}"{shape}];'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
