"""Python text of a block's values, with the lines that must come before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from specc.check.texts import ATOM, PRODUCT, SUM, UNARY, entry_text
from specc.plan.attention import methods_of
from specc.printing.context import CASTS, DTYPES
from specc.printing.rearrange import rearranged
from specc.program import model
from specc.program.dims import ONE
from specc.program.walk import type_of
from specc.vocabulary.find import find
from specc.vocabulary.record import FunctionCall, Raw
from specc.vocabulary.texts import method

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.printing.forward import Forward
    from specc.program.dims import Entry, Shape
    from specc.vocabulary.record import SettingValue

MAX_ARGUMENT = 64  # characters; a longer argument gets a line and a name of its own
MAX_MOVED = 40  # the same of a value that is exchanged between ranks


@attrs.frozen
class Code:
    """Python text and how tightly it binds."""

    text: str
    level: int = ATOM

    def inside(self, level: int) -> str:
        """The text as an operand of that level."""
        return self.text if self.level >= level else f"({self.text})"


def text_level(text: str) -> int:
    """How tightly a piece of constant arithmetic binds."""
    if re.fullmatch(r"[\w.]+(\(.*\))?", text):
        return ATOM
    if re.search(r" [+-] ", text):
        return SUM
    return PRODUCT if re.search(r" [*/%]|//", text) else UNARY


class Expressions:
    """Prints value expressions of one forward; further lines go to the forward's own."""

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self.context = forward.context

    def code(self, value: model.Value) -> Code:
        """Text of a value."""
        match value:
            case model.Ref(name):
                return Code(self.forward.locals.of(name))
            case model.PartValue(part):
                return Code(self._tensor(part))
            case model.Move():
                return Code(self._moved(value))
            case model.Scalar(expr):
                text = self.context.real(expr, self.forward.static_texts)
                self.forward.note_statics(text)
                return Code(text, text_level(text))
            case model.Cast(inner, kind):
                return Code(
                    method(
                        self.code(inner).text,
                        CASTS.get(kind.dtype, f".to({DTYPES[kind.dtype]})"),
                    )
                )
            case model.Arithmetic():
                return self._arithmetic(value)
            case model.Rearrange(inner, source, target):
                code = self.code(inner)
                return Code(self._rearranged(value, code, source, target))
            case model.ApplyPart():
                return self._part(value)
            case model.ApplyFunction():
                return self._function(value)

    def _rearranged(self, value: model.Rearrange, code: Code, source: Shape, target: Shape) -> str:
        return rearranged(self.context, code.inside(ATOM), source, target, value.type)

    def _tensor(self, part: str) -> str:
        """A parameter or buffer: of a parameter that may be split, what this rank has of it."""
        if self.context.facts.layout.tensor is None:
            return f"self.{part}"
        name = part.partition(".")[0].partition("[")[0]
        is_buffer = self.forward.module.child(name).type == "Buffer"
        return f"self.{part}" if is_buffer else f"local(self.{part})"

    def _moved(self, value: model.Move) -> str:
        """A value exchanged between the ranks of the tensor split."""
        tensor = self.context.facts.layout.tensor
        assert tensor is not None
        text = self._argument(value.value, MAX_MOVED)
        if value.kind == "shared_heads":
            assert value.heads is not None
            whole, mine = entry_text(value.heads), self.context.local(value.heads)
            return f"shared_heads({text}, {self.context.start(value.heads)}, {mine}, {whole})"
        group = self.forward.group(tensor.axes)
        at = "" if value.position is None else f", {value.position}"
        return f"{value.kind}({text}{at}, {group})"

    # ------------------------------------------------------------------------- arithmetic

    def _arithmetic(self, value: model.Arithmetic) -> Code:
        if value.right is None:
            return Code(f"-{self.code(value.left).inside(UNARY)}", UNARY)
        level = SUM if value.op in "+-" else PRODUCT
        left = self._aligned(value.left, value.type.shape)
        right = self._aligned(value.right, value.type.shape)
        # a - (b + c) and a / (b * c) keep their parentheses
        tighter = level + 1 if value.op in "-/" else level
        return Code(f"{left.inside(level)} {value.op} {right.inside(tighter)}", level)

    def _aligned(self, value: model.Value, shape: Shape) -> Code:
        """The operand with a dim of one where it lacks a dim that torch would not add by itself."""
        code = self.code(value)
        own = value_shape(value)
        if own is None or len(own) == len(shape) or ONE in own:
            return code
        if own == shape[len(shape) - len(own) :]:
            return code
        text, position = code.inside(ATOM), len(shape) - 1
        missing: list[int] = []
        for entry in reversed(own):
            while shape[position] != entry:
                missing.append(position)
                position -= 1
            position -= 1
        for at in sorted(missing):
            if at > position:
                text += f".unsqueeze({at - position - 1})"
        return Code(text)

    # ------------------------------------------------------------------------------ parts

    def _part(self, value: model.ApplyPart) -> Code:
        arguments = [self._argument(a) for a in value.arguments]
        return self.forward.apply_part(value, arguments)

    def _argument(self, value: model.Value, most: int = MAX_ARGUMENT) -> str:
        text = self.code(value).text
        if len(text) <= most:
            return text
        name = self.forward.locals.fresh("x", "h", "y", "z")
        self.forward.lines.append(f"{name} = {text}")
        return name

    # -------------------------------------------------------------------------- functions

    def _function(self, value: model.ApplyFunction) -> Code:
        arguments = [self._argument(a) for a in value.arguments]
        if value.foreign:
            return Code(f"{self.context.externs[value.function]}({', '.join(arguments)})")
        record = find("functions", value.function)
        settings = self.forward.function_settings(value)
        call = FunctionCall(
            tuple(arguments), self._dims(value), settings, f"{self.forward.holder}.device"
        )
        methods = methods_of(self.context.facts, self.forward.module, value)
        if methods:
            text = self.forward.through_methods(methods, value, record, call)
        else:
            text = record.construct(call)
        return Code(text, text_level(text))

    def _dims(self, value: model.ApplyFunction) -> dict[str, str]:
        """Texts of local sizes and starts by letter, and what inferred functions need."""
        texts: dict[str, str] = {"dtype": DTYPES[self.forward.module.precision.params]}
        first = next((a for a in value.arguments if not isinstance(a, model.Scalar)), None)
        kind = type_of(first) if first is not None else None
        for letter, entry in value.dims.items():
            texts[letter] = self.context.local(entry, kind)
            texts[f"start:{letter}"] = self.context.start(entry, kind)
        texts.update(self._named_dim(value))
        return texts

    def _named_dim(self, value: model.ApplyFunction) -> dict[str, str]:
        shape = value_shape(value.arguments[0])
        if shape is None:
            return {}
        over: Entry | None = value.dims.get("over")
        if over is not None and over in shape:
            return {"dim": str(shape.index(over))}
        results = [kind.shape for kind in value.types]
        differing = [
            i for i in range(len(shape)) if i < len(results[0]) and results[0][i] != shape[i]
        ]
        at = differing[0] if differing else len(shape) - 1
        kinds = [kind for kind in value.types if at < len(kind.shape)]
        sizes = ", ".join(self.context.local(kind.shape[at], kind) for kind in kinds)
        return {"dim": str(at), "sizes": sizes}


def value_shape(value: model.Value) -> Shape | None:
    """Shape of a value; None for a plain number."""
    return None if isinstance(value, model.Scalar) else type_of(value).shape


def settings_with(
    given: Mapping[str, SettingValue], raw: Mapping[str, str]
) -> dict[str, SettingValue | Raw]:
    """Evaluated settings, those that a constructor argument decides replaced by its text."""
    return {name: Raw(raw[name]) if name in raw else value for name, value in given.items()}
