"""What every printer of the text needs: facts, texts of sizes, places in the spec."""

from __future__ import annotations

import os.path
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from specc.check.texts import entry_text, real_text, size_text
from specc.plan.externs import extern_uses
from specc.plan.tensor import place
from specc.printing.names import Names
from specc.program.dims import names
from specc.vocabulary.record import Constructor
from specc.vocabulary.texts import number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from specc.check.names import Evaluated
    from specc.plan.facts import Facts, TensorSplit
    from specc.program.dims import Entry
    from specc.program.model import ValueType
    from specc.source import Span
    from specc.syntax import tree
    from specc.vocabulary.record import SettingValue

DTYPES = {
    "fp32": "torch.float32",
    "bf16": "torch.bfloat16",
    "fp16": "torch.float16",
    "i64": "torch.int64",
    "bool": "torch.bool",
}
CASTS = {"fp32": ".float()", "bf16": ".bfloat16()", "fp16": ".half()"}
# Functions that every text may define.
FUNCTIONS = ("shard", "build_model", "build", "batches", "held_out_batches", "held_out_loss")
LOOP = ("train", "main")


@attrs.frozen(eq=False, slots=False)  # slots have no room for cached properties
class Context:
    """The facts with the texts that all printers share."""

    facts: Facts

    @cached_property
    def externs(self) -> dict[str, str]:
        """Python name of each extern that the model uses: its own, or the spec's if that is taken.

        Nothing else in the text has one of these names.
        """
        modules = self.facts.model.walk()
        blocks = {module.block.name for module in modules if module.block is not None}
        used = {use.extern for use in extern_uses(self.facts)}
        sizes = [*self.facts.dims, *(axis.name for axis in self.facts.mesh.axes)]
        own = blocks | {name.upper() for name in sizes}
        found = Names(taken={*own, *FUNCTIONS, *LOOP})
        externs = [
            (name, each) for name, each in self.facts.program.externs.items() if name in used
        ]
        return {name: found.fresh(extern.attribute, name) for name, extern in externs}

    def place(self, span: Span) -> str:
        """`lib/llama.spec:5`: the file relative to the spec's own folder, and the line."""
        home = Path(self.facts.program.source.name).parent
        path = Path(os.path.relpath(span.source.name, home))
        return f"{path.as_posix()}:{span.line}"

    def piece(self, dim: str, kind: ValueType | None) -> str:
        """Stem of the constants of a rank's piece of a dim, `S`, `S_TP`; empty where it is whole.

        Args:
            kind: of the value that has the dim; None for one that the layout's `else` leaves alone.
        """
        tensor = self.facts.layout.tensor
        if tensor is not None and kind is not None and dim == tensor.otherwise:
            at = place(kind, tensor)
            if at is not None and at[1] == dim:
                return inner_stem(tensor)
        is_split = bool(self.facts.layout.axes_of(dim))
        return dim.upper() if is_split or (tensor is not None and dim in tensor.dims) else ""

    def local(self, entry: Entry, kind: ValueType | None = None) -> str:
        """Text of the entry's size on one rank: `B_LOCAL`, `HEADS * HD`."""
        whole = entry_text(entry)
        for name in names(entry):
            if stem := self.piece(name, kind):
                whole = re.sub(rf"\b{name.upper()}\b", f"{stem}_LOCAL", whole)
        return whole

    def start(self, entry: Entry, kind: ValueType | None = None) -> str:
        """Text of this rank's first index along an entry: `S_START`, or `0` where it is whole."""
        stems = [stem for name in names(entry) if (stem := self.piece(name, kind))]
        return f"{stems[0]}_START" if stems else "0"

    def real(self, expr: tree.Expr, statics: Mapping[str, str]) -> str:
        """Text of a number; `statics` are the texts of names that the block itself knows."""
        return real_text(expr, self.look_up(statics))

    def argument(self, expr: tree.Expr, value: SettingValue, statics: Mapping[str, str]) -> str:
        """Text of a constructor's argument: an expression over constants, or the value itself."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return literal(value)
        axes = {
            name: " * ".join(leaf.upper() for leaf in leaves)
            for name, leaves in self.facts.mesh.products.items()
        }
        look_up = self.look_up({**axes, **statics})
        return (size_text if isinstance(value, int) else real_text)(expr, look_up)

    def look_up(self, statics: Mapping[str, str]) -> Callable[[str], Evaluated]:
        """What names in an expression stand for: constants of the text, or values to write out."""

        def found(name: str) -> Evaluated:
            if name in statics:
                return statics[name]
            return name.upper() if name in self.facts.dims else self.facts.lets[name]

        return found


def inner_stem(tensor: TensorSplit) -> str:
    """Stem of the constants of the dim of `else`, inside what splits it anyhow: `S_TP`."""
    return "_".join((tensor.otherwise or "", *tensor.axes)).upper()


def group_name(axes: tuple[str, ...]) -> str:
    """Name of the process group of an axis product, in constructors and as an attribute."""
    return "_".join((*axes, "group"))


def literal(value: SettingValue) -> str:
    """Python text of an evaluated setting."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, tuple):
        inside = ", ".join(literal(item) for item in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, Constructor):
        inside = ", ".join(f"{name}={literal(v)}" for name, v in value.settings.items())
        return f"{value.name}({inside})"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
