"""Blocks under a binding: their classes, and dims inferred at the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.program.dims import dim, show_shape
from specc.program.model import (
    BlockClass,
    Foreign,
    Instance,
    Parameter,
    StaticSetting,
)
from specc.resolve.body import Body
from specc.resolve.parts import BlockUse, ExternUse
from specc.resolve.scope import BlockHome, Bound, Unresolved
from specc.resolve.types import check_dtype, infer_dims, value_type
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specc.diagnostics import Report
    from specc.program.dims import Entry
    from specc.program.model import ValueType
    from specc.source import Span


@attrs.define(eq=False)
class Blocks:
    """Every block class made so far; a block is read once for each binding of its dims."""

    report: Report
    classes: dict[str, BlockClass] = attrs.field(factory=dict[str, BlockClass])
    _keys: dict[object, str | None] = attrs.field(factory=dict[object, str | None])
    _open: list[tuple[str, Span]] = attrs.field(factory=lambda: [])  # noqa: PIE807  typed

    def instantiate(
        self,
        home: BlockHome,
        formals: dict[str, Entry],
        leading: tuple[Entry, ...] | None,
        span: Span,
    ) -> BlockClass:
        """The class of a block under its binding; raises Unresolved if its body does not hold."""
        block = home.block
        identity = (id(block), tuple(sorted(formals.items())), leading)
        self._refuse_recursion(block, span)
        if identity not in self._keys:
            self._open.append((block.name, span))
            self._keys[identity] = None
            made = self._read(home, formals, leading)
            self._open.pop()
            if made is not None:
                self.classes[made.key] = made
                self._keys[identity] = made.key
        key = self._keys[identity]
        if key is None:
            raise Unresolved
        return self.classes[key]

    def _refuse_recursion(self, block: tree.Block, span: Span) -> None:
        names = [name for name, _ in self._open]
        if block.name not in names:
            return
        loop = [*names[names.index(block.name) :], block.name]
        self.report.error(
            "E0216",
            span,
            f"`{block.name}` contains itself",
            " -> ".join(loop[-2:]) + " closes the loop",
            helps=[f"the language has no recursion; use `repeat n {block.name}`"],
        )
        raise Unresolved

    def _read(
        self, home: BlockHome, formals: dict[str, Entry], leading: tuple[Entry, ...] | None
    ) -> BlockClass | None:
        block = home.block
        statics = {s.name: s for s in block.statics if s.kind is not None}
        bound = Bound(home.scope, self.report, formals, statics, leading, imported=home.imported)
        body = Body(self, block, bound)
        if not body.read():
            return None
        key, number = block.name, 1
        while key in self.classes:
            number += 1
            key = f"{block.name}_{number}"
        return BlockClass(
            key,
            block.name,
            tuple(StaticSetting(s.name, s.kind or "", s.default, s.span) for s in statics.values()),
            tuple(body.inputs.items()),
            tuple(zip((r.name for r in block.results), body.results, strict=True)),
            body.settled_parts(),
            tuple(body.statements),
            tuple(body.ties),
            tuple(s for s in block.body if isinstance(s, tree.Check)),
            dict(formals),
            block.name_span,
        )

    # ------------------------------------------------------------------------------- uses

    def apply(
        self, use: BlockUse, types: Sequence[ValueType], site: Bound, span: Span
    ) -> BlockClass:
        """The class of a used block, its dims bound by arguments, by these inputs, or by name."""
        block = use.home.block
        formals = dict(use.dims)
        leading = self._infer(use.home, formals, types)
        self.bind_by_name(block.statics, block.name, formals, site, use.span)
        made = self.instantiate(use.home, formals, leading, use.span)
        if use.instance is None:
            use.instance = Instance(made.key, use.settings, use.span)
        self.check_arguments(made, types, span)
        return made

    def settle(self, use: BlockUse | ExternUse, site: Bound) -> None:
        """Bind by name what was never applied."""
        if isinstance(use, ExternUse):
            if use.foreign is None:
                self.apply_extern(use, [], site)
        elif use.instance is None:
            formals = dict(use.dims)
            self.bind_by_name(use.home.block.statics, use.home.block.name, formals, site, use.span)
            leading = () if _has_others(use.home.block.params) else None
            made = self.instantiate(use.home, formals, leading, use.span)
            use.instance = Instance(made.key, use.settings, use.span)

    def _infer(
        self, home: BlockHome, formals: dict[str, Entry], types: Sequence[ValueType]
    ) -> tuple[Entry, ...] | None:
        free = {s.name for s in home.block.statics if s.kind is None}
        leading: tuple[Entry, ...] | None = () if _has_others(home.block.params) else None
        for param, given in zip(home.block.params, types, strict=False):
            found = infer_dims(param.type, given, free, formals)
            leading = found if found is not None else leading
        return leading

    def bind_by_name(
        self,
        statics: tuple[tree.Static, ...],
        owner: str,
        formals: dict[str, Entry],
        site: Bound,
        span: Span,
    ) -> None:
        """Bind the dims that are still free to the dims of the same name where the part is used."""
        for static in statics:
            if static.kind is not None or static.name in formals:
                continue
            if site.is_dim(static.name):
                formals[static.name] = site.dim_entry(static.name, span)
            elif static.default is not None:
                formals[static.name] = site.entry(static.default)
            else:
                self.report.error(
                    "E0207",
                    span,
                    f"block `{owner}` needs dimension `{static.name}`",
                    f"no `{static.name}` here to bind",
                    helps=[
                        (
                            f"declare `dim {static.name} = ...` or pass it: "
                            f"`{owner}({static.name} = ...)`"
                        )
                    ],
                )
                raise Unresolved

    def check_arguments(self, made: BlockClass, types: Sequence[ValueType], span: Span) -> None:
        """Report inputs that do not fit the class."""
        if len(types) != len(made.inputs):
            names = ", ".join(name for name, _ in made.inputs)
            self.report.error(
                "E0210",
                span,
                f"`{made.name}` takes {len(made.inputs)} values, and is given {len(types)}",
                f"takes {names}",
            )
            raise Unresolved
        for (name, wanted), given in zip(made.inputs, types, strict=True):
            if wanted.shape != given.shape:
                self.report.error(
                    "E0211",
                    span,
                    f"`{made.name}` takes {show_shape(wanted.shape)} "
                    f"but is given {show_shape(given.shape)}",
                    f"expected {show_shape(wanted.shape)} for `{name}`",
                )
                raise Unresolved
            check_dtype(self.report, made.name, wanted, given, span)

    # ---------------------------------------------------------------------------- externs

    def apply_extern(
        self, use: ExternUse, types: Sequence[ValueType], site: Bound
    ) -> tuple[tuple[ValueType, ...], tuple[ValueType, ...]]:
        """Input and result types of a used extern class."""
        formals = dict(use.dims)
        inputs, results, bound = self.extern_types(use.extern, formals, types, site, use.span)
        if use.foreign is None:
            weights = tuple(
                Parameter(w.name, bound.shape(w.type.shape), "own", w.trained)
                for w in use.extern.weights
            )
            use.foreign = Foreign(use.extern.name, formals, weights, use.span)
        return inputs, results

    def extern_types(
        self,
        extern: tree.Extern,
        formals: dict[str, Entry],
        types: Sequence[ValueType],
        site: Bound,
        span: Span,
    ) -> tuple[tuple[ValueType, ...], tuple[ValueType, ...], Bound]:
        """Types of an extern's inputs and results once its dims are bound by the values given."""
        free = {s.name for s in extern.statics}
        leading: tuple[Entry, ...] | None = () if _has_others(extern.params) else None
        for param, given in zip(extern.params, types, strict=False):
            found = infer_dims(param.type, given, free, formals)
            leading = found if found is not None else leading
        self.bind_by_name(extern.statics, extern.name, formals, site, span)
        bound = Bound(site.scope, self.report, formals, {}, leading)
        inputs = tuple(value_type(param.type, bound) for param in extern.params)
        results = tuple(value_type(result.type, bound) for result in extern.results)
        return inputs, results, bound


def _has_others(params: Sequence[tree.Param]) -> bool:
    return any(isinstance(e, tree.Others) for p in params for e in p.type.shape.entries)


def library_formals(block: tree.Block) -> dict[str, Entry]:
    """Dims of a block that nobody uses, each standing for itself."""
    return {s.name: dim(s.name) for s in block.statics if s.kind is None}
