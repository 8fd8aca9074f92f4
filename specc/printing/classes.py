"""The model's classes: one for each block, more where instances differ inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.texts import entry_text
from specc.plan.tensor import SEGMENTS, WHOLE, lie, loss_place
from specc.printing.context import Context, group_name, literal
from specc.printing.externs import made_here
from specc.printing.fit import fit, fit_body
from specc.printing.forward import Forward
from specc.printing.lists import list_text
from specc.printing.names import Names
from specc.printing.segmented import segmented_lines
from specc.program import model
from specc.program.walk import type_of, values_of
from specc.resolve.values import scalar_names
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.record import Lie

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from specc.plan.facts import Module, TensorSplit
    from specc.printing.tail import Tail
    from specc.vocabulary.record import PartRecord


@attrs.define(eq=False)
class ClassText:
    """One printed class.

    Attributes:
        name: in the text.
        groups: attribute names of the process groups that its constructor takes, with their axes.
        settings: static settings that its constructor takes.
        lines: the whole class.
    """

    name: str
    groups: dict[str, tuple[str, ...]]
    settings: tuple[str, ...]
    lines: list[str]


class Classes:
    """Prints every class of the model once, children before parents."""

    def __init__(self, context: Context, tail: Tail | None) -> None:
        self.context = context
        self.tail = tail
        self.names = Names(taken=set(context.externs.values()))
        self.varying = varying_statics(context.facts.model)
        self.printed: dict[Hashable, ClassText] = {}
        self.root = self.class_of(context.facts.model)

    # ---------------------------------------------------------------------------- variants

    def class_of(self, module: Module) -> ClassText:
        """The class of a block's module, printed now if it is new."""
        signature = self._signature(module)
        if signature not in self.printed:
            children = {child.name: child for child in module.children}
            for child in children.values():
                self._visit(child)
            text = self._print(module)
            same = next(
                (
                    t
                    for t in self.printed.values()
                    if t.lines[1:] == text.lines[1:] and text.name.startswith(t.name)
                ),
                None,
            )
            self.printed[signature] = same or text
        return self.printed[signature]

    def _visit(self, module: Module) -> None:
        if module.block is not None:
            self.class_of(module)
        else:
            for child in module.children:
                self._visit(child)

    def _signature(self, module: Module) -> Hashable:
        """What makes two modules print alike: calls, and how each child is made and called."""
        assert module.block is not None
        key = module.block.key
        varying = self.varying.get(key, frozenset())
        statics = tuple((n, literal(v)) for n, v in module.statics.items() if n not in varying)
        return (
            key,
            statics,
            module.precision.params,
            self._segments(module),
            self._methods(module),
            tuple(self._child_signature(c) for c in module.children),
        )

    def _segments(self, module: Module) -> Hashable:
        return module.recompute.keep if module.recompute is not None else ()

    def _methods(self, module: Module) -> Hashable:
        """The methods that act here, each by its number in the layout."""
        methods = self.context.facts.layout.methods
        return tuple(n for n, method in enumerate(methods) if method.acts_in(module.path))

    def _child_signature(self, child: Module) -> Hashable:
        if child.block is not None:
            inner: Hashable = self._signature(child)
        elif child.children:
            inner = tuple(self._child_signature(c) for c in child.children)
        else:
            inner = (child.type, tuple((n, str(v)) for n, v in child.settings.items()))
        recomputed = child.recompute is not None and not child.recompute.keep
        return (child.name, inner, recomputed, child.precision.params)

    # ----------------------------------------------------------------------------- printing

    def _print(self, module: Module) -> ClassText:
        block = module.block
        assert block is not None
        varying = self.varying.get(block.key, frozenset())
        is_root = module is self.context.facts.model
        forward = Forward(
            self.context,
            module,
            varying,
            is_sharded_root=is_root and self.context.facts.layout.storage.kind != "ddp",
        )
        body = self._forward_lines(forward, self.tail if is_root else None)
        if is_root:
            self._give_group(forward)
        parts, groups = self._parts(module, varying)
        groups = {**groups, **forward.groups}
        settings = tuple(s.name for s in block.statics if s.name in varying)
        text = ClassText(self.names.fresh(block.name), groups, settings, [])
        text.lines.append(f"class {text.name}(nn.Module):  # {self.context.place(block.span)}")
        text.lines.extend(self._constructor(text, forward, parts))
        text.lines.append("")
        text.lines.extend(body)
        return text

    def _give_group(self, forward: Forward) -> None:
        """The model has the group of the tensor split where the training step needs it."""
        facts = self.context.facts
        tensor = facts.layout.tensor
        terms = facts.training.loss
        if tensor is not None and (
            facts.summed or any(loss_place(term, tensor) != "whole" for term in terms)
        ):
            forward.group(tensor.axes)

    def _constructor(self, text: ClassText, forward: Forward, parts: list[str]) -> list[str]:
        words = ", ".join(["self", *text.groups, *text.settings])
        lines = [f"    def __init__({words}):", "        super().__init__()"]
        lines.extend(f"        self.{group} = {group}" for group in forward.groups)
        lines.extend(
            f"        self.{name} = {name}"
            for name in text.settings
            if name in forward.used_statics
        )
        for part in parts:
            lines.extend(fit(part, 8))
        return lines

    def _forward_lines(self, forward: Forward, tail: Tail | None) -> list[str]:
        if tail is not None:
            return tail.print_into(forward)
        rule = forward.module.recompute
        if rule is not None and rule.keep:
            return segmented_lines(forward, rule.keep)
        forward.print_statements(forward.statements)
        head = f"def forward({', '.join(['self', *forward.inputs])}):"
        return [*fit(head, 4), *fit_body(forward.lines, 8)]

    def _parts(
        self, module: Module, varying: frozenset[str]
    ) -> tuple[list[str], dict[str, tuple[str, ...]]]:
        assert module.block is not None
        lines: list[str] = []
        groups: dict[str, tuple[str, ...]] = {}
        types = applied_types(self.context.facts.statements(module.block))
        for part in module.block.parts:
            child = module.child(part.name)
            texts = {name: name for name in varying}
            text = self._part(child, part.what, texts, types, groups)
            if isinstance(part.what, model.Leaf) and part.what.kind == "Buffer":
                lines.append(f'self.register_buffer("{part.name}", {text})')
            else:
                lines.append(f"self.{part.name} = {text}")
        lines.extend(self._tie(tie) for tie in module.block.ties)
        return lines, groups

    def _part(
        self,
        child: Module,
        what: model.What,
        texts: Mapping[str, str],
        types: Mapping[str, model.ValueType],
        groups: dict[str, tuple[str, ...]],
    ) -> str:
        """Text that makes a part; the elements of a chain may be applied one by one."""
        kind = types.get(child.name)
        if not isinstance(what, model.Chain):
            return self.construct(child, what, texts, kind, groups)
        items = [
            self.construct(c, c.what, texts, types.get(f"{child.name}.{c.name}", kind), groups)
            for c in child.children
        ]
        return f"nn.Sequential({', '.join(items)})"

    def _tie(self, tie: model.Tie) -> str:
        left, right = ".".join(tie.left), ".".join(tie.right)
        return f"self.{left} = self.{right}  # {self.context.place(tie.span)}"

    # ------------------------------------------------------------------------ constructors

    def construct(
        self,
        module: Module,
        what: model.What | None,
        texts: Mapping[str, str],
        kind: model.ValueType | None,
        groups: dict[str, tuple[str, ...]],
    ) -> str:
        """Text that makes a module; `texts` are the constructor arguments that may appear in it."""
        match what:
            case model.Leaf():
                return self._leaf(module, what, texts, kind, groups)
            case model.Instance(_, given):
                made = self.class_of(module)
                groups.update(made.groups)
                words = [
                    *made.groups,
                    *(self._static(module, name, given, texts) for name in made.settings),
                ]
                return f"{made.name}({', '.join(words)})"
            case model.Chain():
                items = [self.construct(c, c.what, texts, kind, groups) for c in module.children]
                return f"nn.Sequential({', '.join(items)})"
            case model.PartList():
                return list_text(self, module, what, texts, kind, groups)
            case model.Foreign():
                return made_here(self.context, module, groups)
            case None:
                raise AssertionError(module.path)

    def _leaf(
        self,
        module: Module,
        what: model.Leaf,
        texts: Mapping[str, str],
        kind: model.ValueType | None,
        groups: dict[str, tuple[str, ...]],
    ) -> str:
        record = find("parts", what.kind)
        dims = {letter: entry_text(entry) for letter, entry in what.dims.items()}
        if record.arguments == "shape":
            dims["shape"] = ", ".join(dims.values())
        if kind is not None:
            starts = [self.context.start(entry, kind) for entry in kind.shape]
            dims["start"] = f"({', '.join(starts)}{',' if len(starts) == 1 else ''})"
        settings = dict(module.settings)
        for given in what.settings:
            if set(texts) & set(scalar_names(given.expr)):
                settings[given.name] = self.context.real(given.expr, dict(texts))
        tensor = self.context.facts.layout.tensor
        if tensor is None or record.local is None:
            return record.construct(dims, settings)
        return record.local(dims, settings, self._lie(what, record, tensor, groups))

    def _lie(
        self,
        what: model.Leaf,
        record: PartRecord,
        tensor: TensorSplit,
        groups: dict[str, tuple[str, ...]],
    ) -> Lie:
        """How the weights of a part lie on the ranks of the tensor split."""
        segments: tuple[str, ...] = ()
        group = group_name(tensor.axes)
        for letter, entry in what.dims.items():
            if letter in record.split and lie(entry, tensor) == SEGMENTS:
                segments = tuple(entry_text((segment,)) for segment in entry)
                groups[group] = tensor.axes
        summed = [e for letter, e in what.dims.items() if letter in record.sum]
        apart = [entry for entry in summed if lie(entry, tensor) != WHOLE]
        start = self.context.start(apart[0]) if apart else ""
        return Lie(bool(apart), segments, start, group)

    def _static(
        self, module: Module, name: str, given: tuple[model.Given, ...], texts: Mapping[str, str]
    ) -> str:
        for setting in given:
            if setting.name == name and set(texts) & set(scalar_names(setting.expr)):
                return f"{name}={self.context.real(setting.expr, dict(texts))}"
        return f"{name}={literal(module.statics[name])}"


def varying_statics(root: Module) -> dict[str, frozenset[str]]:
    """For each block, the static settings that differ between its modules."""
    seen: dict[str, dict[str, set[str]]] = {}
    for module in root.walk():
        if module.block is not None:
            names = {static.name for static in module.block.statics}
            for name in names:
                values = seen.setdefault(module.block.key, {}).setdefault(name, set())
                values.add(literal(module.statics[name]))
    return {
        key: frozenset(name for name, values in statics.items() if len(values) > 1)
        for key, statics in seen.items()
    }


def applied_types(statements: tuple[model.Statement, ...]) -> dict[str, model.ValueType]:
    """Type of the first value that each part is applied to, and each element `mlp.0` by itself."""
    types: dict[str, model.ValueType] = {}
    for value in values_of(statements):
        if isinstance(value, model.ApplyPart) and not isinstance(value.arguments[0], model.Scalar):
            name = value.part
            if isinstance(value.index, tree.Number):
                name = f"{name}.{value.index.value}"
            types.setdefault(name, type_of(value.arguments[0]))
    return types
