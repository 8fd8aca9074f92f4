"""Collectives of a step by which ranks exchange values, forward, recomputed and backward."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import attrs

from specc.plan.attention import data_size, sent_by_attention
from specc.plan.collective import DTYPE_BYTES, Collective
from specc.plan.holding import local_sizes
from specc.plan.tensor import loss_place
from specc.program import model
from specc.program.segments import cut
from specc.program.walk import operands, roots
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specc.plan.facts import Facts, Module, TensorSplit
    from specc.program.model import Move, Statement, Value

# What a move sends in the forward pass, and its transpose in the backward pass.
SENT = {
    "gather": ("all_gather", "reduce_scatter"),
    "scatter_sum": ("reduce_scatter", "all_gather"),
    "collect": ("all_gather", None),
    "sum_over": ("all_reduce", None),
    "enter": (None, "all_reduce"),
}


def exchanges(facts: Facts) -> Iterator[Collective]:
    """What attention, and the ranks of the tensor split, send."""
    split = facts.layout.tensor
    if split is None and not facts.layout.methods:
        return
    walk = _Walk(facts)
    made = facts.model.block
    assert made is not None
    list(walk.block(facts.model, [False] * len(made.inputs), again=False, last=False))
    yield from walk.found
    if split is None:
        return
    yield from _loss(facts, split)
    if facts.summed:
        parameters = {p.name: p for p in facts.parameters}
        elements = sum(prod(local_sizes(facts, parameters[name])) for name in facts.summed)
        cause = "gradients of whole parameters"
        yield Collective("all_reduce", split.axes, "fp32", 4 * elements, 1, cause, split.rule)


def _loss(facts: Facts, split: TensorSplit) -> Iterator[Collective]:
    """A loss over split classes: the largest score, then sums of the weights and the targets."""
    training = facts.training
    for term, settings in zip(training.loss, training.loss_settings, strict=True):
        if loss_place(term, split) != "classes":
            continue
        tokens = prod(data_size(facts, entry) for entry in term.types[0].shape[:-1])
        record = find("losses", term.function)
        again = 2 if record.chunk is not None and settings.get(record.chunk) else 1
        rows = 1 + 2 + bool(settings.get("smooth"))
        size_bytes = 4 * tokens * rows
        cause = "the loss over pieces of the classes"
        count = again * training.accumulate
        yield Collective("all_reduce", split.axes, "fp32", size_bytes, count, cause, split.rule)


@attrs.define
class _Walk:
    """Goes through the model as forward does, and knows which values have gradients."""

    facts: Facts
    found: list[Collective] = attrs.field(factory=list["Collective"])

    def block(
        self, module: Module, given: Sequence[bool], *, again: bool, last: bool
    ) -> Iterator[bool]:
        """Whether the results of a block have gradients, from whether its inputs have.

        Args:
            again: whether its forward runs again in the backward pass.
            last: whether what runs again ends with this block, so that it stops before its end.
        """
        made = module.block
        assert made is not None
        known = {name: has for (name, _), has in zip(made.inputs, given, strict=True)}
        statements = self.facts.statements(made)
        rule = module.recompute
        if rule is None:
            yield from self.run(module, statements, known, again=again, last=last)
        elif not rule.keep:
            yield from self.run(module, statements, known, again=True, last=True)
        else:
            for segment in cut(statements, rule.keep):
                inside = tuple(segment.statements)
                repeated = again or not segment.kept
                yield from self.run(module, inside, known, again=repeated, last=not segment.kept)

    def run(
        self,
        module: Module,
        statements: Sequence[Statement],
        known: dict[str, bool],
        *,
        again: bool,
        last: bool,
    ) -> Iterator[bool]:
        """Statements of a block in order; gives what its results have, if they return."""
        ending = _ending(statements) if last else ()
        for statement in statements:
            flags = [self.value(module, v, known, ending, again=again) for v in roots(statement)]
            if isinstance(statement, model.Return):
                yield from flags
            else:
                known.update(dict.fromkeys(statement.names, flags[0]))

    def value(
        self,
        module: Module,
        value: Value,
        known: dict[str, bool],
        ending: Sequence[Value],
        *,
        again: bool,
    ) -> bool:
        """Whether a value has a gradient."""
        if isinstance(value, model.Ref):
            return known[value.name]
        if isinstance(value, model.PartValue):
            path = value.part.partition(".")[0].replace("[", ".").replace("]", "")
            return _is_trained(_below(module, path))
        flags = [self.value(module, v, known, ending, again=again) for v in operands(value)]
        at_end = any(value is other for other in ending)
        if isinstance(value, model.ApplyPart):
            child = module.child(value.part)
            if value.index is not None:
                child = child.children[getattr(value.index, "value", 0)]
            return self.apply(child, flags, again=again, last=at_end)
        if isinstance(value, model.ApplyFunction) and value.function == "attention":
            sent = sent_by_attention(self.facts, module, value, flags, repeated=again, ends=at_end)
            self.found += sent
        if isinstance(value, model.Move):
            repeated = again and not at_end
            self.found += self.sent(module, value, has=flags[0], repeated=repeated)
        return any(flags)

    def apply(self, child: Module, given: list[bool], *, again: bool, last: bool) -> bool:
        """Whether the first result of a part has a gradient."""
        if child.block is not None:
            results = list(self.block(child, given, again=again, last=last))
            return results[0]
        recomputed, has = child.recompute is not None, any(given)
        if isinstance(child.what, (model.Chain, model.PartList)):
            ends = isinstance(child.what, model.Chain) and (last or recomputed)
            for element in child.children:
                at_end = ends and element is child.children[-1]
                flags = [has, *given[1:]]
                has = self.apply(element, flags, again=again or recomputed, last=at_end)
            return has
        return has or _is_trained(child)

    def sent(
        self, module: Module, move: Move, *, has: bool, repeated: bool
    ) -> Iterator[Collective]:
        split = self.facts.layout.tensor
        if move.kind not in SENT or split is None:
            return
        elements = prod(data_size(self.facts, entry) for entry in move.type.shape)
        dtype = module.precision.params
        size_bytes = elements * DTYPE_BYTES[dtype]
        forward, backward = SENT[move.kind]
        micro = self.facts.training.accumulate
        for sent, times in ((forward, 1 + repeated), (backward, int(has))):
            if sent is not None and times:
                yield Collective(
                    sent,
                    split.axes,
                    dtype,
                    size_bytes,
                    times * micro,
                    "values between parameters that are split",
                    split.rule,
                )


def _below(module: Module, path: str) -> Module:
    for name in path.split("."):
        module = module.child(name)
    return module


def _is_trained(module: Module) -> bool:
    return any(p.trained and not p.frozen for inner in module.walk() for p in inner.parameters)


def _ending(statements: Sequence[Statement]) -> tuple[Value, ...]:
    """What runs after the last value that backward needs: recomputation stops before it.

    Source: torch.utils.checkpoint, `set_checkpoint_early_stop`.
    """
    found: list[Value] = []
    rest = list(statements)
    value: Value | None = roots(rest.pop())[-1] if rest else None
    while value is not None:
        match value:
            case model.Move(_, operand):
                found.append(value)
                value = operand
            case model.Arithmetic("+" | "-", left, right) if right is not None:
                plain = isinstance(right, (model.Ref, model.PartValue, model.Scalar))
                value = left if plain and not _assigns(rest, right) else right
            case model.Ref() if _assigns(rest, value):
                value = roots(rest.pop())[0]
            case model.ApplyPart() | model.ApplyFunction(function="attention"):
                found.append(value)
                value = None
            case _:
                value = _kept_nothing_of(value)
    return tuple(found)


def _kept_nothing_of(value: Value) -> Value | None:
    """The one operand of which backward needs nothing."""
    match value:
        case model.Rearrange(operand) | model.Cast(operand):
            return operand
        case model.Arithmetic("neg", operand, None):
            return operand
        case model.Arithmetic("*", model.Scalar(), operand):
            return operand
        case model.Arithmetic("*" | "/", operand, model.Scalar()):
            return operand
        case model.ApplyFunction(function="mean" | "sum", arguments=(operand,)):
            return operand
        case _:
            return None


def _assigns(statements: Sequence[Statement], value: Value) -> bool:
    last = statements[-1] if statements else None
    return (
        isinstance(value, model.Ref)
        and isinstance(last, model.Assign)
        and last.names == (value.name,)
    )
