"""A loss in chunks of tokens: the model's tail runs inside it, logits exist chunk by chunk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from specc.plan.tensor import loss_place
from specc.printing.fit import fit, fit_body
from specc.printing.values import loss_text, piece_text
from specc.program import model
from specc.program.walk import inside, replaced, type_of
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from specc.plan.facts import Facts
    from specc.printing.forward import Forward
    from specc.vocabulary.record import SettingValue

ENTRY = "tail"  # the value that enters the tail, by a name that no spec can write twice


@attrs.frozen
class Tail:
    """What runs per chunk.

    Args:
        value: the expression of the logits over `entry`.
        entry: the value that enters it, the last one without the class dim.
        labels: field with the targets.
        loss, settings: name of the loss and its settings.
        statements: what runs before, once for all tokens.
    """

    value: model.Value
    entry: model.Value
    labels: str
    loss: str
    settings: dict[str, SettingValue] = attrs.field(eq=False)
    statements: tuple[model.Statement, ...]

    def print_into(self, forward: Forward) -> list[str]:
        """The methods `forward(ids, labels=None)`, `loss`, and `logits` for a longer tail."""
        forward.print_statements(self.statements)
        entry = forward.expressions.code(self.entry).text
        name = entry if entry.isidentifier() else _reused(entry, forward)
        if name != entry:
            forward.lines.append(f"{name} = {entry}")
        before, forward.lines = forward.lines, []
        per_chunk = replaced(
            self.value, self.entry, model.Ref(ENTRY, type_of(self.entry), self.entry.span)
        )
        text = forward.expressions.code(per_chunk).text
        own = forward.locals.of(ENTRY)
        single = f"({own})" in text and text.count(own) == 1 and text.endswith(f"({own})")
        tail = text.removesuffix(f"({own})") if single else "self.logits"
        labels = forward.locals.of(self.labels)
        facts = forward.context.facts
        tensor, term = facts.layout.tensor, facts.training.loss[0]
        is_whole = tensor is None or loss_place(term, tensor) == "whole"
        group = "" if tensor is None or is_whole else forward.group(tensor.axes)
        loss = loss_text(facts, term, (f"{tail}({name})", labels), self.settings, group)
        given = labels
        if tensor is not None and loss_place(term, tensor) == "split":
            given = piece_text(labels, term, tensor, group)
        lines = [
            *fit(f"def forward({', '.join(['self', *forward.inputs])}, {labels}=None):", 4),
            '        """The logits; with labels, the sum of the loss over this rank, in chunks."""',
            *fit_body(before, 8),
            f"        if {labels} is None:",
            f"            return {forward.result(self.value, f'{tail}({name})')}",
            *fit(f"return chunked_loss(self.loss, {name}, {given}, LOSS_CHUNK)", 8),
        ]
        if not single:
            body = text.replace(own, name)
            lines += ["", f"    def logits(self, {name}):", *fit(f"return {body}", 8)]
        return [*lines, "", f"    def loss(self, {name}, {labels}):", *fit(f"return {loss}", 8)]


def _reused(entry: str, forward: Forward) -> str:
    """A name for the value that enters the tail: that of the value it is made of, if one."""
    read = {word for word in re.findall(r"(?<![.\w])\w+", entry) if word in forward.locals.taken}
    return read.pop() if len(read) == 1 else forward.locals.fresh("x", "h", "y", "z")


def find_tail(facts: Facts) -> Tail | None:
    """The tail, if a loss term asks for chunks; the checker has refused what has none."""
    for term, settings in zip(facts.training.loss, facts.training.loss_settings, strict=True):
        record = find("losses", term.function)
        if record.chunk is not None and settings.get(record.chunk):
            return _tail(facts, term.arguments[0], term.arguments[1], term.function, dict(settings))
    return None


def _tail(
    facts: Facts, logits: str, labels: str, loss: str, settings: dict[str, SettingValue]
) -> Tail:
    block = facts.model.block
    assert block is not None
    *before, last = facts.statements(block)
    assert isinstance(last, model.Return)
    position = [name for name, _ in block.results].index(logits)
    value = last.values[position]
    statements = list(before)
    value = _inlined(value, statements)
    classes = type_of(value).shape[-1]
    entry = value
    while type_of(entry).shape[-1:] == (classes,):
        entry = _operand(entry, classes)
    return Tail(value, entry, labels, loss, settings, tuple(statements))


def _inlined(value: model.Value, statements: list[model.Statement]) -> model.Value:
    """The value with names replaced by what they were assigned, as far as the tail reaches."""
    while statements:
        last = statements[-1]
        if not (isinstance(last, model.Assign) and len(last.names) == 1):
            return value
        found = next(
            (r for r in inside(value) if isinstance(r, model.Ref) and r.name == last.names[0]), None
        )
        if found is None or type_of(last.value).shape[-1] != type_of(value).shape[-1]:
            return value
        value = replaced(value, found, last.value)
        statements.pop()
    return value


def _operand(value: model.Value, classes: object) -> model.Value:
    """The one tensor that a position-wise value is made of."""
    match value:
        case model.ApplyPart(_, _, (first,)):
            return first
        case model.ApplyFunction(_, (first,)):
            return first
        case model.Arithmetic(_, left, right):
            sides = [
                s
                for s in (left, right)
                if s is not None and not isinstance(s, (model.Scalar, model.PartValue))
            ]
            return next((s for s in sides if type_of(s).shape[-1] == classes), sides[0])
        case model.Cast(inner):
            return inner
        case _:
            raise AssertionError(value)
