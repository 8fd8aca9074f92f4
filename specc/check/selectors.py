"""Which parts and parameters a selector picks in the unfolded model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.expressions import whole
from specc.check.names import Unknown
from specc.diagnostics import nearest
from specc.program import model
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.check.expressions import Scope
    from specc.check.modules import Node, Tensor
    from specc.diagnostics import Report
    from specc.source import Span


@attrs.frozen
class Selection:
    """What a selector picks: parts by path, and parameters that it names themselves.

    Args:
        direct: parameters written out in the selector (`each Linear.bias`, `cls`), not those that
            merely lie inside a selected part.
    """

    parts: frozenset[str] = frozenset()
    direct: frozenset[str] = frozenset()

    def __or__(self, other: Selection) -> Selection:
        return Selection(self.parts | other.parts, self.direct | other.direct)


class Tree:
    """The unfolded model, indexed for selectors and rules.

    Attributes:
        parts: every part by path, parents first.
        tensors: every tensor by name, in state-dict order.
        owners: path of the part that a tensor belongs to.
    """

    def __init__(self, root: Node, scope: Scope) -> None:
        self.root = root
        self.scope = scope
        self.report: Report = scope.report
        self.parts: dict[str, Node] = {node.path: node for node in root.walk()}
        self.tensors: dict[str, Tensor] = {}
        self.owners: dict[str, str] = {}
        for node in self.parts.values():
            for tensor in node.tensors:
                self.tensors[tensor.name] = tensor
                self.owners[tensor.name] = node.path
        self.types: frozenset[str] = frozenset(
            node.type for node in self.parts.values() if node.type
        )

    def inside(self, paths: Iterable[str]) -> frozenset[str]:
        """The parts of these paths and everything inside them."""
        return frozenset(inner.path for path in paths for inner in self.parts[path].walk())

    def tensors_of(self, paths: Iterable[str]) -> frozenset[str]:
        """Names of the tensors of these parts and of everything inside them."""
        return frozenset(
            tensor.name
            for path in paths
            for inner in self.parts[path].walk()
            for tensor in inner.tensors
        )

    def acting(self, paths: Iterable[str]) -> frozenset[str]:
        """The parts that a rule acts on: for a list, which has no forward, its elements."""
        found: set[str] = set()
        for path in paths:
            node = self.parts[path]
            if isinstance(node.what, model.PartList):
                found |= self.acting(child.path for child in node.children)
            else:
                found.add(path)
        return frozenset(found)

    def select(self, selector: tree.Selector) -> Selection | None:
        """What a selector picks; None when it picks nothing, which has been reported."""
        found = self._target(selector.target, each=selector.each)
        if found is None:
            return None
        if selector.within is not None:
            region = self._target(selector.within, each=False)
            if region is None:
                return None
            inside, held = self.inside(region.parts), self.tensors_of(region.parts)
            found = Selection(found.parts & inside, found.direct & held)
        if selector.without is not None:
            region = self._target(selector.without, each=False)
            if region is None:
                return None
            inside, held = self.inside(region.parts), self.tensors_of(region.parts)
            direct = found.direct - held - region.direct
            found = Selection(found.parts - inside, direct)
        if not found.parts and not found.direct:
            self._report_nothing(selector.target, selector.span)
            return None
        return found

    def select_all(self, selectors: Iterable[tree.Selector]) -> Selection | None:
        """The union of several selectors; the whole model when there are none."""
        selectors = tuple(selectors)
        if not selectors:
            return Selection(frozenset({self.root.path}))
        found = [self.select(selector) for selector in selectors]
        picked = [selection for selection in found if selection is not None]
        if len(picked) < len(found):
            return None
        union = Selection()
        for selection in picked:
            union |= selection
        return union

    # --------------------------------------------------------------------------- targets

    def _target(self, expr: tree.Expr, *, each: bool) -> Selection | None:
        base, steps = _steps(expr)
        if not isinstance(base, tree.Name):
            self._report_form(expr)
            return None
        by_type = each or (self.root.child(base.name) is None and base.name in self.types)
        if by_type:
            nodes = [node for node in self.parts.values() if node.type == base.name]
        else:
            child = self.root.child(base.name)
            nodes = [child] if child is not None else []
        if not nodes:
            self._report_nothing(base, base.span)
            return None
        tensors: list[Tensor] = []
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            if isinstance(step, tree.Attribute):
                nodes, tensors = self._attribute(nodes, step, last=last)
            else:
                nodes = self._item(nodes, step)
            if not nodes and not tensors:
                return None
        parts = frozenset(node.path for node in nodes if not node.is_tensor)
        held = [tensor for node in nodes if node.is_tensor for tensor in node.tensors]
        return Selection(parts, frozenset(tensor.name for tensor in (*tensors, *held)))

    def _attribute(
        self, nodes: list[Node], step: tree.Attribute, *, last: bool
    ) -> tuple[list[Node], list[Tensor]]:
        children = [child for node in nodes if (child := node.child(step.name)) is not None]
        tensors = [
            tensor
            for node in nodes
            for tensor in node.tensors
            if last and tensor.parameter.name == step.name
        ]
        if not children and not tensors:
            names = {child.name for node in nodes for child in node.children}
            names |= {tensor.parameter.name for node in nodes for tensor in node.tensors}
            near = nearest(step.name, names)
            self.report.error(
                "E0401",
                step.span,
                f"`{step.span.text}` selects nothing in `{self.root.type}`",
                f"no part or parameter `{step.name}` there",
                notes=[f"there: {', '.join(sorted(names))}"] if names else [],
                helps=[f"did you mean `{near}`?"] if near else [],
            )
        return children, tensors

    def _item(self, nodes: list[Node], step: tree.Item) -> list[Node]:
        picked: list[Node] = []
        for node in nodes:
            if node.type:  # lists and chains have no type of their own
                text = step.base.span.text
                self.report.error(
                    "E0401", step.span, f"`{text}` is one part, not a list", "nothing to index"
                )
                return []
            for index in step.indices:
                numbers = self._numbers(index, len(node.children), step)
                if numbers is None:
                    return []
                picked.extend(node.children[number] for number in numbers)
        if not picked:
            self._report_nothing(step, step.span)
        return picked

    def _numbers(self, index: tree.Index, count: int, step: tree.Item) -> list[int] | None:
        """The element numbers that an index means in a list of `count` parts."""
        match index:
            case tree.Every():
                return list(range(count))
            case tree.Range(first, last, span):
                start = self._bound(first, 0, count)
                end = self._bound(last, count, count)
                if start is None or end is None:
                    return None
                if start > count or end > count:
                    self._report_end(step, count, span)
                    return None
                return list(range(start, end))
            case _:
                number = whole(index, self.scope, least=-count)
                if isinstance(number, Unknown):
                    return None
                if number >= count:
                    self._report_end(step, count, index.span)
                    return None
                return [number % count]

    def _bound(self, expr: tree.Expr | None, default: int, count: int) -> int | None:
        if expr is None:
            return default
        number = whole(expr, self.scope, least=-count)
        if isinstance(number, Unknown):
            return None
        return number + count if number < 0 else number

    # --------------------------------------------------------------------------- reports

    def _report_end(self, step: tree.Item, count: int, span: Span) -> None:
        title = f"`{step.span.text}` runs past the end of `{step.base.span.text}` ({count} parts)"
        self.report.error("E0403", span, title, f"last index is {count - 1}")

    def _report_nothing(self, expr: tree.Expr, span: Span) -> None:
        text = expr.span.text
        names = [*self.types, *(child.name for child in self.root.children)]
        near = nearest(text, names) if isinstance(expr, tree.Name) else None
        parts = ", ".join(child.name for child in self.root.children)
        self.report.error(
            "E0401",
            span,
            f"`{text}` selects nothing in `{self.root.type}`",
            "no part matches",
            notes=[f"block types here: {', '.join(sorted(self.types))}", f"parts here: {parts}"],
            helps=[f"did you mean `{near}`?"] if near and near != text else [],
        )

    def _report_form(self, expr: tree.Expr) -> None:
        self.report.error(
            "E0401",
            expr.span,
            f"`{expr.span.text}` is no selector",
            "expected a type or a path",
            notes=["a selector is `each Type`, or a path such as `blocks[0..4].attn`"],
        )


def spelled(path: str) -> str:
    """A path as selectors write it: `blocks[0].mlp[2]` for `blocks.0.mlp.2`."""
    words = path.split(".") if path else []
    text = ""
    for word in words:
        text += f"[{word}]" if word.isdigit() else f".{word}" if text else word
    return text or "the model"


def _steps(expr: tree.Expr) -> tuple[tree.Expr, list[tree.Attribute | tree.Item]]:
    """The first name of a path, and the steps after it in order."""
    steps: list[tree.Attribute | tree.Item] = []
    while isinstance(expr, tree.Attribute | tree.Item):
        steps.append(expr)
        expr = expr.base
    return expr, steps[::-1]
