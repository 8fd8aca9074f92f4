"""Unfolds the model: every element of a list becomes a part of its own, its settings evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.calls import call_settings, numbers
from specc.check.elements import check_shape
from specc.check.expressions import evaluate, holds, show, whole
from specc.check.externs import init_values
from specc.check.names import Evaluated, Unknown
from specc.check.settings import Written, constructor, fill, typed
from specc.program import model
from specc.program.dims import show_shape, size
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.record import Constructor, Setting, SettingValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.check.expressions import Scope
    from specc.program.model import ApplyFunction, BlockClass, Given, Scalar, What
    from specc.program.program import Program
    from specc.source import Span

MOST_ELEMENTS = 4_096
MOST_PARTS = 100_000
STATIC_KINDS = ("int", "float", "bool", "word")


@attrs.frozen
class Tensor:
    """One parameter or buffer of a part.

    Args:
        name: state-dict name.
        init: `init =` of the part, for its first tensor.
    """

    name: str
    parameter: model.Parameter
    sizes: tuple[int, ...]
    init: Constructor | None


@attrs.frozen(eq=False)
class Node:
    """One part, unfolded, before any rule is applied; the fields are those of `facts.Module`."""

    path: str
    name: str
    type: str
    what: What | None
    block: BlockClass | None
    statics: Mapping[str, SettingValue]
    settings: Mapping[str, SettingValue]
    calls: Mapping[ApplyFunction, Mapping[str, SettingValue]]
    numbers: Mapping[Scalar, float]
    children: tuple[Node, ...]
    tensors: tuple[Tensor, ...]

    def walk(self) -> Iterator[Node]:
        """This part and everything inside, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def child(self, name: str) -> Node | None:
        """The direct child of that name, if there is one."""
        return next((child for child in self.children if child.name == name), None)

    @property
    def is_tensor(self) -> bool:
        """Whether the part is one tensor, a `Param` or `Buffer`."""
        return bool(self.tensors) and self.tensors[0].name == self.path


class Unfolding:
    """Unfolds one Program with evaluated names.

    Attributes:
        sizes: size of every dim.
        count: parts made so far.
    """

    def __init__(self, program: Program, scope: Scope, sizes: Mapping[str, int]) -> None:
        self.program = program
        self.scope = scope
        self.report = scope.report
        self.sizes = sizes
        self.count = 0

    def model(self) -> Node:
        """The whole model."""
        assert self.program.model is not None
        root = self.program.classes[self.program.model]
        return self._block(root, "", "", None, (), self.scope)

    # ------------------------------------------------------------------------------- parts

    def _part(self, what: What, path: str, scope: Scope) -> Node:
        self.count += 1
        name = path.rpartition(".")[2]
        match what:
            case model.Leaf():
                return self._leaf(what, path, name, scope)
            case model.Instance():
                made = self.program.classes[what.block]
                return self._block(made, path, name, what, what.settings, scope)
            case model.Foreign():
                return self._foreign(what, path, name)
            case model.Chain():
                pairs = [(item, scope) for item in what.items]
                return self._elements(what, pairs, path, name)
            case model.PartList():
                return self._elements(what, self._flat(what, scope), path, name)

    def _elements(self, what: What, items: list[tuple[What, Scope]], path: str, name: str) -> Node:
        children: list[Node] = []
        for index, (item, inner) in enumerate(items):
            if self.count >= MOST_PARTS:
                self._report_many(f"the model has more than {MOST_PARTS:_} parts", what)
                break
            children.append(self._part(item, _join(path, str(index)), inner))
        return Node(path, name, "", what, None, {}, {}, {}, {}, tuple(children), ())

    def _flat(self, parts: model.PartList, scope: Scope) -> list[tuple[What, Scope]]:
        """The elements of a list: the pattern cycled, lists inside an uncounted one spliced in."""
        if parts.count is None:
            flat: list[tuple[What, Scope]] = []
            for item in parts.items:
                inner = (
                    self._flat(item, scope) if isinstance(item, model.PartList) else [(item, scope)]
                )
                flat.extend(inner)
            return flat
        count = whole(parts.count, scope, least=0)
        if isinstance(count, Unknown):
            return []
        if count > MOST_ELEMENTS:
            self._report_many(f"a list of {count:_} parts; the most is {MOST_ELEMENTS:_}", parts)
            return []
        elements: list[tuple[What, Scope]] = []
        for index in range(count):
            inner = scope.within({parts.index: index}) if parts.index else scope
            elements.append((parts.items[index % len(parts.items)], inner))
        return elements

    def _report_many(self, title: str, what: What) -> None:
        self.report.error("E0236", what.span, title, "too many")

    # ------------------------------------------------------------------------------ blocks

    def _block(
        self,
        made: BlockClass,
        path: str,
        name: str,
        what: What | None,
        given: tuple[Given, ...],
        site: Scope,
    ) -> Node:
        statics = self._statics(made, given, site)
        formals = {dim: size(entry, self.sizes) for dim, entry in made.binding.items()}
        scope = attrs.evolve(self.scope, local={**formals, **statics})
        for check in made.checks:
            check_holds(check, scope)
        children = tuple(
            self._part(part.what, _join(path, part.name), scope) for part in made.parts
        )
        calls = call_settings(made, scope)
        known = {k: v for k, v in statics.items() if not isinstance(v, Unknown)}
        return Node(
            path, name, made.name, what, made, known, {}, calls, numbers(made, scope), children, ()
        )

    def _statics(
        self, made: BlockClass, given: tuple[Given, ...], site: Scope
    ) -> dict[str, Evaluated]:
        by_name = {setting.name: setting for setting in given}
        values: dict[str, Evaluated] = {}
        for static in made.statics:
            setting = by_name.get(static.name)
            expr = setting.expr if setting is not None else static.default
            if expr is None:
                self.report.error(
                    "E0610",
                    static.span,
                    f"`{made.name}` needs `{static.name}`, and nothing gives it",
                    "no value",
                    helps=[f"pass it where the block is used: `{made.name}({static.name} = ...)`"],
                )
                values[static.name] = Unknown.UNKNOWN
                continue
            scope = site if setting is not None else self.scope
            values[static.name] = self._static(made, static, expr, scope)
        return values

    def _static(
        self, made: BlockClass, static: model.StaticSetting, expr: tree.Expr, scope: Scope
    ) -> Evaluated:
        where = f"{made.name}.{static.name}"
        if static.kind not in STATIC_KINDS:
            return constructor(expr, scope, "words", static.kind)
        is_none = isinstance(static.default, tree.Name) and static.default.name == "none"
        setting = Setting(static.name, static.kind, optional=is_none, default=0)  # type: ignore[arg-type]
        return typed(where, setting, expr, scope)

    # ------------------------------------------------------------------------------ leaves

    def _leaf(self, leaf: model.Leaf, path: str, name: str, scope: Scope) -> Node:
        record = find("parts", leaf.kind)
        own = [g for g in leaf.settings if g.name != "init"]
        given = [Written(g.name, g.expr, g.span) for g in own]
        settings = fill(leaf.kind, record.settings, given, scope, leaf.span)
        init = next((g for g in leaf.settings if g.name == "init"), None)
        draw = constructor(init.expr, scope, "inits", "init") if init is not None else None
        known = None if isinstance(draw, Unknown) else draw
        tensors = self._tensors(path, leaf.parameters, known, leaf.span)
        values = {} if isinstance(settings, Unknown) else settings
        return Node(path, name, leaf.kind, leaf, None, {}, values, {}, {}, (), tensors)

    def _foreign(self, extern: model.Foreign, path: str, name: str) -> Node:
        declared = self.program.externs[extern.extern].declaration
        sizes = {dim: size(entry, self.sizes) for dim, entry in extern.dims.items()}
        settings = init_values(declared, sizes, self.scope)
        tensors = self._tensors(path, extern.parameters, None, extern.span)
        return Node(path, name, extern.extern, extern, None, {}, settings, {}, {}, (), tensors)

    def _tensors(
        self,
        path: str,
        parameters: tuple[model.Parameter, ...],
        init: Constructor | None,
        span: Span,
    ) -> tuple[Tensor, ...]:
        tensors: list[Tensor] = []
        for parameter in parameters:
            sizes = tuple(size(entry, self.sizes) for entry in parameter.shape)
            name = _join(path, parameter.name) if parameter.name else path
            if 0 in sizes:
                title = f"a tensor of shape {show_shape(parameter.shape)} has no elements"
                self.report.error("E0235", span, title, f"this is {list(sizes)}")
            check_shape(parameter.shape, self.sizes, span, self.report)
            tensors.append(Tensor(name, parameter, sizes, init if not tensors else None))
        return tuple(tensors)


def check_holds(check: tree.Check, scope: Scope) -> None:
    """Report a `check` line whose condition does not hold."""
    if holds(check.condition, scope) is not False:
        return
    reason = f": {check.reason}" if check.reason else ""
    scope.report.error(
        "E0234",
        check.condition.span,
        f"`{check.condition.span.text}` does not hold{reason}",
        _sides(check.condition, scope),
    )


def _sides(condition: tree.Expr, scope: Scope) -> str:

    if not isinstance(condition, tree.Binary):
        return "this is false"
    left, right = evaluate(condition.left, scope), evaluate(condition.right, scope)
    return f"{show(left)} {condition.op} {show(right)}"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
