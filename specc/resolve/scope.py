"""What names mean: the declarations of a file, and the binding of one block's dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.diagnostics import nearest
from specc.program.dims import Entry, dim, number, product, total
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.diagnostics import Report
    from specc.source import Source, Span


class Unresolved(Exception):  # noqa: N818  a signal between readers, not an error to show
    """A name or shape could not be understood; it has been reported, or follows from what was."""


@attrs.define
class Scope:
    """The names that a file's blocks can use, imports included."""

    source: Source
    poisoned: frozenset[str]
    dims: dict[str, tree.DimDecl] = attrs.field(factory=lambda: {})  # noqa: PIE807  typed
    lets: dict[str, tree.Let] = attrs.field(factory=lambda: {})  # noqa: PIE807  typed
    blocks: dict[str, BlockHome] = attrs.field(factory=lambda: {})  # noqa: PIE807  typed
    externs: dict[str, tree.Extern] = attrs.field(factory=lambda: {})  # noqa: PIE807  typed
    clusters: dict[str, tree.Cluster] = attrs.field(factory=lambda: {})  # noqa: PIE807  typed
    used: set[str] = attrs.field(factory=set[str])
    incomplete: frozenset[str] = frozenset()


@attrs.frozen(eq=False)
class BlockHome:
    """A block and the scope of the file that declares it; `imported` by the file that uses it."""

    block: tree.Block
    scope: Scope
    imported: bool


@attrs.define
class Bound:
    """One block being read under one binding.

    Args:
        formals: dims of its `[ ]` that are bound so far.
        statics: its typed settings by name.
        leading: the entries that `..` stands for; None where the signature has none.
    """

    scope: Scope
    report: Report
    formals: dict[str, Entry]
    statics: Mapping[str, tree.Static]
    leading: tuple[Entry, ...] | None = None
    indices: frozenset[str] = frozenset()
    imported: bool = False

    def is_dim(self, name: str) -> bool:
        """Whether a name is a dim here."""
        return name in self.formals or name in self.scope.dims

    def entry(self, expr: tree.Expr) -> Entry:
        """The shape entry that an expression says."""
        match expr:
            case tree.Name(name, span):
                return self.dim_entry(name, span)
            case tree.Number(value, unit, text, span):
                return self._number_entry(value, unit, text, span)
            case tree.Binary("*", left, right):
                return product(self.entry(left), self.entry(right))
            case tree.Binary("+", left, right):
                return total(self.entry(left), self.entry(right))
            case tree.Group(inner):
                return self.entry(inner)
            case _:
                self.report.error(
                    "E0219",
                    expr.span,
                    "a shape entry is a dim, a number, or a product or sum of them",
                    "not one of these",
                    helps=["give it a name with `dim n = ...` and use `n` here"],
                )
                raise Unresolved

    def shape(self, shape: tree.Shape) -> tuple[Entry, ...]:
        """The entries of a written shape, `..` replaced by the dims it stands for."""
        entries: list[Entry] = []
        for item in shape.entries:
            if not isinstance(item, tree.Others):
                entries.append(self.entry(item))
            elif self.leading is None:
                self.report.error(
                    "E0219",
                    item.span,
                    "`..` stands for the leading dims of the block's input, and there are none",
                    "nothing to stand for",
                    helps=["write `x: [.., d]` in the block's signature"],
                )
                raise Unresolved
            else:
                entries.extend(self.leading)
        return tuple(entries)

    def dim_entry(self, name: str, span: Span) -> Entry:
        """The entry that a name stands for in a shape."""
        if name in self.formals:
            return self.formals[name]
        if name in self.scope.dims:
            if self.imported:
                self._report_capture(name, span)
                raise Unresolved
            self.scope.used.add(name)
            return dim(name)
        if name not in self.scope.poisoned:
            near = nearest(name, [*self.formals, *self.scope.dims])
            helps = [f"did you mean `{near}`?"] if near else [f"declare it: `dim {name} = ...`"]
            self.report.error(
                "E0201", span, f"unknown dimension `{name}`", "not declared", helps=helps
            )
        raise Unresolved

    def _number_entry(self, value: float, unit: str, text: str, span: Span) -> Entry:
        if unit or not isinstance(value, int) or value < 1:
            self.report.error(
                "E0106",
                span,
                f"expected a count of elements, found `{text}`",
                "not a whole number of at least 1",
            )
            raise Unresolved
        return number(value)

    def _report_capture(self, name: str, span: Span) -> None:
        self.report.error(
            "E0221",
            span,
            f"an imported block uses `{name}`, a dim of its own file",
            f"`{name}` is not in the block's [ ]",
            notes=["an imported block gets its dims from where it is used, never from its file"],
            helps=[f"list `{name}` in the block's [ ]"],
        )
