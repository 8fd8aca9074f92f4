"""The forward of one class: its statements in order, collectives on lines of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from specc.plan.attention import repeats
from specc.plan.chains import input_precisions
from specc.printing.context import CASTS, Context, group_name, literal
from specc.printing.expressions import Code, Expressions, settings_with
from specc.printing.names import Names
from specc.program import model
from specc.program.walk import reads, type_of, values_of
from specc.resolve.values import scalar_names
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.texts import method

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.plan.facts import Facts, Method, Module
    from specc.program.model import BlockClass
    from specc.vocabulary.record import FunctionCall, FunctionRecord, Raw, SettingValue


class Forward:
    """One forward being printed.

    Args:
        module: a module of the class; all of them print alike.
        varying: static settings that are constructor arguments of the class.
        is_sharded_root: whether FSDP2 wraps the class as the whole model; it warns of results that
            are views of other tensors.

    Attributes:
        holder: name of a tensor whose device new ones take.
        lines: the body so far, without indentation.
        groups: axis products whose process groups the class needs, by attribute name.
        used_statics: constructor arguments that forward reads.
    """

    def __init__(
        self,
        context: Context,
        module: Module,
        varying: frozenset[str],
        *,
        is_sharded_root: bool = False,
    ) -> None:
        assert module.block is not None
        self.context = context
        self.module = module
        self.block: BlockClass = module.block
        self.statements = context.facts.statements(module.block)
        self.varying = varying
        self.is_sharded_root = is_sharded_root
        self.locals = Names(taken=set(context.externs.values()))
        self.inputs = [self.locals.of(name) for name, _ in self.block.inputs]
        self.holder = self.inputs[0]
        self.lines: list[str] = []
        self.groups: dict[str, tuple[str, ...]] = {}
        self.used_statics: set[str] = set()
        self.expressions = Expressions(self)
        # by place: a call keeps it where the printer rearranges what is around it
        self.settings = {
            value.span: module.calls[value]
            for value in values_of(self.block.statements)
            if isinstance(value, model.ApplyFunction) and value in module.calls
        }

    @property
    def static_texts(self) -> dict[str, str]:
        """Texts of the block's settings: an attribute where instances differ, else the value."""
        return {
            name: f"self.{name}" if name in self.varying else literal(value)
            for name, value in self.module.statics.items()
        }

    def note_statics(self, text: str) -> None:
        """Remember which constructor arguments a text reads."""
        self.used_statics.update(self.varying & set(re.findall(r"\bself\.(\w+)", text)))

    # -------------------------------------------------------------------------- statements

    def print_statements(self, statements: tuple[model.Statement, ...]) -> None:
        """Print statements in order."""
        for statement in statements:
            match statement:
                case model.Assign(names, value):
                    self._assign(names, value)
                case model.Return(values):
                    texts = [self._result(value) for value in values]
                    self.lines.append(f"return {', '.join(texts)}")

    def _result(self, value: model.Value) -> str:
        return self.result(value, self.expressions.code(value).text)

    def result(self, value: model.Value, text: str) -> str:
        """Text of a result of the class; of a whole sharded model in fp32, and no view."""
        if not self.is_sharded_root or type_of(value).dtype in ("i64", "bool"):
            return text
        if self.module.precision.params != "fp32":
            return method(text, ".float()")
        return method(text, ".clone()") if self._is_view(value) else text

    def _is_view(self, value: model.Value) -> bool:
        """Whether torch makes a value as a view of another tensor."""
        return is_view(value, self.module, self.context.facts)

    def _assign(self, names: tuple[str, ...], value: model.Value) -> None:
        self.wanted = names
        text = self.expressions.code(value).text
        self.wanted = ()
        targets = ", ".join("_" if name == "_" else self.locals.of(name) for name in names)
        tensor = self.context.facts.layout.tensor
        if isinstance(value, model.Move) and tensor is not None:
            text += f"  # {self.context.place(tensor.rule)}"
        if targets != text:
            self.lines.append(f"{targets} = {text}")

    wanted: tuple[str, ...] = ()

    # ------------------------------------------------------------------------------- parts

    def apply_part(self, value: model.ApplyPart, arguments: list[str]) -> Code:
        """Text of a part applied; a list becomes a loop on lines before."""
        child = self.module.child(value.part)
        if isinstance(child.what, model.PartList) and value.index is None:
            return self._loop(value, child, arguments)
        target = f"self.{value.part}"
        if value.index is not None:
            index = self.context.real(value.index, self.static_texts)
            target, child = f"{target}[{index}]", child.children[int(index)]
        return Code(self.call(target, child, arguments))

    def call(self, target: str, child: Module, arguments: list[str]) -> str:
        """One module called, in its own precision, recomputed in backward where a rule says so."""
        outer, inner = self.module.precision.params, input_precisions(child)
        if len(inner) > 1 and isinstance(child.what, model.Chain):
            text = arguments[0]  # parts of the chain differ: each is called on its own
            for number, item in enumerate(child.children):
                text = self.call(f"{target}[{number}]", item, [text])
            return text
        own = next(iter(inner), outer)
        differs = own != outer
        if differs:
            arguments = [method(a, CASTS[own]) for a in arguments]
        inside = ", ".join(arguments)
        if child.recompute is not None and not child.recompute.keep:
            text = f"checkpoint({target}, {inside}, use_reentrant=False)"
        else:
            text = f"{target}({inside})"
        return f"{text}{CASTS[outer]}" if differs else text

    def _loop(self, value: model.ApplyPart, child: Module, arguments: list[str]) -> Code:
        count = len(value.types)
        carried = self._carried(count, arguments)
        names = ", ".join(carried)
        if names != ", ".join(arguments[:count]):
            self.lines.append(f"{names} = {', '.join(arguments[:count])}")
        singular = value.part[:-1] if value.part.endswith("s") and len(value.part) > 1 else "layer"
        item = self.locals.fresh(singular, "layer")
        for elements, source in self._runs(child, f"self.{value.part}"):
            call = self.call(item, elements[0], [*carried, *arguments[count:]])
            comment = ""
            if elements[0].recompute is not None and not elements[0].recompute.keep:
                comment = f"  # {self.context.place(elements[0].recompute.span)}"
            self.lines.append(f"for {item} in {source}:")
            self.lines.append(f"    {names} = {call}{comment}")
        return Code(names)

    def _carried(self, count: int, arguments: list[str]) -> list[str]:
        """Names of the values that run through a list: the assigned ones, or new ones."""
        if len(self.wanted) == count and "_" not in self.wanted:
            return [self.locals.of(name) for name in self.wanted]
        names: list[str] = []
        for argument in arguments[:count]:
            free = "x" in self.inputs and argument == "x"
            names.append(argument if free else self.locals.fresh("x", "h", "y", "z"))
        return names

    def _runs(self, child: Module, source: str) -> list[tuple[list[Module], str]]:
        """Runs of elements that are called alike, with the slice of the list that holds each."""
        runs: list[list[Module]] = []
        for element in child.children:
            if runs and self._form(runs[-1][0]) == self._form(element):
                runs[-1].append(element)
            else:
                runs.append([element])
        if len(runs) == 1:
            return [(runs[0], source)]
        slices: list[tuple[list[Module], str]] = []
        start = 0
        for run in runs:
            end = start + len(run)
            first = str(start) if start else ""
            last = str(end) if end < len(child.children) else ""
            slices.append((run, f"{source}[{first}:{last}]"))
            start = end
        return slices

    def _form(self, element: Module) -> tuple[object, ...]:
        recomputed = element.recompute is not None and not element.recompute.keep
        return (recomputed and element.recompute, input_precisions(element))

    # --------------------------------------------------------------------------- functions

    def function_settings(self, value: model.ApplyFunction) -> dict[str, SettingValue | Raw]:
        """Settings of a call, evaluated; those that a constructor argument decides as text."""
        raw: dict[str, str] = {}
        for given in value.settings:
            if self.varying & set(scalar_names(given.expr)):
                raw[given.name] = self.context.real(given.expr, self.static_texts)
                self.note_statics(raw[given.name])
        return settings_with(self.settings[value.span], raw)

    def through_methods(
        self,
        used: Iterable[Method],
        value: model.ApplyFunction,
        record: FunctionRecord,
        call: FunctionCall,
    ) -> str:
        """A call that needs a split dim whole; lines before it move what must move.

        A method that takes the call's place stands inside of one that moves values around it.
        """
        first, *others = sorted(
            used, key=lambda each: find("methods", each.name).construct is not None
        )
        group = self.group(first.axes)
        axis = "*".join(first.axes)
        place = self.context.place(first.rule)
        construct = find("methods", first.name).construct
        if construct is not None:
            order = ", in zigzag order" if first.settings.get("zigzag") else ""
            self.lines.append(
                f"# Keys and values travel around {axis}, which splits {first.dim}{order}.  {place}"
            )
            return construct(call, group, first.settings)
        heads = first.settings["heads"]
        self.lines.append(
            f"# Inside attention {axis} splits {heads} instead of {first.dim}.  {place}"
        )
        moved = attrs.evolve(call, arguments=self._moved(first, value, call.arguments, group))
        if others:
            text = self.through_methods(others, value, record, moved)
        else:
            text = record.construct(moved)
        return f"heads_to_tokens({text}, {group})"

    def _moved(
        self, used: Method, value: model.ApplyFunction, arguments: tuple[str, ...], group: str
    ) -> tuple[str, ...]:
        """Names of the values that have all tokens of some heads."""
        moved: list[str] = []
        for argument, wanted, source in zip(
            arguments, ("q", "k", "v"), value.arguments, strict=True
        ):
            free = isinstance(source, model.Ref) and argument.isidentifier() and self._dies(source)
            name = argument if free else self.locals.fresh(wanted)
            whole = self._repeated(argument, wanted, used, value)
            self.lines.append(f"{name} = tokens_to_heads({whole}, {group})")
            moved.append(name)
        return tuple(moved)

    def _repeated(self, argument: str, which: str, used: Method, value: model.ApplyFunction) -> str:
        """Keys and values with their heads repeated where there are fewer than ranks."""
        times = repeats(self.context.facts, value, used)
        return f"repeat_heads({argument}, {times})" if which != "q" and times != 1 else argument

    def _dies(self, ref: model.Ref) -> bool:
        """Whether a call is the only use of a value, so that its name may be taken over."""
        return sum(name == ref.name for name in reads(self.statements)) == 1

    def group(self, axes: tuple[str, ...]) -> str:
        """Attribute that holds the process group of an axis product."""
        attribute = group_name(axes)
        self.groups[attribute] = axes
        return f"self.{attribute}"


def is_view(value: model.Value, module: Module, facts: Facts, before: int | None = None) -> bool:
    """Whether torch makes a value of a block as a view of another tensor.

    Args:
        before: number of the statement that has the value; None for the last one.
    """
    match value:
        case model.Rearrange():
            return True
        case model.Move(kind):
            return kind not in ("scatter_sum", "sum_over")
        case model.Cast(inner):
            return is_view(inner, module, facts, before)
        case model.Ref(name):
            assert module.block is not None
            made = list(enumerate(facts.statements(module.block)))[:before]
            for number, statement in reversed(made):
                if isinstance(statement, model.Assign) and name in statement.names:
                    return is_view(statement.value, module, facts, number)
            return False
        case model.ApplyPart():
            return _gives_view(value, module, facts)
        case _:
            return False


def _gives_view(value: model.ApplyPart, module: Module, facts: Facts) -> bool:
    """Whether the last part that a value runs through gives a view."""
    child = module.child(value.part)
    if isinstance(value.index, tree.Number):
        child = child.children[int(value.index.value)]
    while child.block is None and child.children:
        child = child.children[-1]
    if child.block is not None:
        last = facts.statements(child.block)[-1]
        results = last.values if isinstance(last, model.Return) else ()
        return any(is_view(each, child, facts) for each in results)
    # with a bias it is a flat result, viewed
    has_rows = len(value.types[0].shape) > 2
    return child.type == "Linear" and len(child.parameters) == 2 and has_rows
