"""Axis rules: which dims axes split and how, where parameters lie, which ranks repeat work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.assignments import flatten
from specc.check.names import Unknown
from specc.check.selectors import spelled
from specc.check.settings import constructor, fill, written_settings
from specc.diagnostics import nearest
from specc.plan.facts import Method, Split, TensorSplit
from specc.program.dims import shape_names
from specc.syntax import tree
from specc.vocabulary.find import find, known_names
from specc.vocabulary.record import Later, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specc.check.selectors import Tree
    from specc.plan.facts import Mesh
    from specc.program.program import Program
    from specc.source import Span

STORAGE = ("optim", "grads", "params")  # ZeRO-1, -2, -3: each implies those before it
RESHARD = Setting("reshard_after_forward", "bool", default=None, optional=True)


@attrs.frozen
class StorageRule:
    """`dp*cp: shard params per Block { reshard_after_forward = true }`.

    Args:
        kind: `params`, `grads` or `optim`.
        axes: leaf axes, in mesh order.
        units: paths of the parts that `per` names.
        reshard: None where the rule does not say.
        per: place of the units.
    """

    kind: str
    axes: tuple[str, ...]
    units: frozenset[str]
    reshard: bool | None
    span: Span = attrs.field(eq=False, repr=False)
    per: Span | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class AxisRules:
    """All axis rules of a layout, understood.

    Args:
        used: leaf axes that a rule names.
    """

    splits: tuple[Split, ...]
    methods: tuple[Method, ...]
    storage: StorageRule | None
    duplicate: tuple[str, ...]
    tensor: TensorSplit | None
    used: frozenset[str]


class AxisReader:
    """Reads the axis rules of one layout.

    Args:
        data_dims: dims of the fields of `train.data`.
        sizes: size of every dim.
    """

    def __init__(
        self,
        program: Program,
        mesh: Mesh,
        model: Tree,
        data_dims: frozenset[str],
        sizes: Mapping[str, int],
    ) -> None:
        self.program = program
        self.mesh = mesh
        self.model = model
        self.report = model.report
        self.data_dims = data_dims
        self.sizes = sizes
        self.splits: dict[str, list[tuple[tuple[str, ...], Span]]] = {}
        self.methods: list[Method] = []
        self.storages: list[StorageRule] = []
        self.duplicates: dict[str, Span] = {}
        self.tensor: TensorSplit | None = None
        self.used: set[str] = set()

    def read(self, rules: Iterable[tree.AxisRule]) -> AxisRules:
        """All rules; what is wrong with them is reported."""
        for rule in rules:
            axes = self._axes(rule)
            if axes is None:
                continue
            self.used.update(axes)
            match rule.action:
                case tree.Replicate(span):
                    self.duplicates.update(dict.fromkeys(axes, span))
                case tree.Stage(span=span):
                    self._refuse("E0492", span, "pipeline stages")
                case tree.Shard():
                    self._shard(rule.action, axes)
        splits = tuple(self._split(dim, found) for dim, found in self.splits.items())
        self._check_duplicates(splits)
        self._check_otherwise()
        order = [axis.name for axis in self.mesh.axes]
        duplicate = tuple(name for name in order if name in self.duplicates)
        storage = self._storage_of_all()
        methods, used = tuple(self.methods), frozenset(self.used)
        return AxisRules(splits, methods, storage, duplicate, self.tensor, used)

    # ------------------------------------------------------------------------------ axes

    def _axes(self, rule: tree.AxisRule) -> tuple[str, ...] | None:
        """Leaf axes that a rule names, in mesh order."""
        leaves: set[str] = set()
        sound = True
        for name in rule.axes:
            if name.name in self.mesh.products:
                leaves.update(self.mesh.products[name.name])
                continue
            near = nearest(name.name, self.mesh.products)
            self.report.error(
                "E0404",
                name.span,
                f"the mesh has no axis `{name.name}`",
                "not an axis",
                notes=[f"axes: {', '.join(self.mesh.products) or 'none'}"],
                helps=[f"did you mean `{near}`?"] if near else [],
            )
            sound = False
        if not sound:
            return None
        return tuple(axis.name for axis in self.mesh.axes if axis.name in leaves)

    # ----------------------------------------------------------------------------- shard

    def _shard(self, shard: tree.Shard, axes: tuple[str, ...]) -> None:
        kinds = [name for name in shard.subjects if name.name in STORAGE]
        dims = [name for name in shard.subjects if name.name not in STORAGE]
        known = [name for name in dims if self._is_dim(name)]
        if kinds:
            self._storage(shard, kinds, axes)
        elif (shard.per or shard.attrs) and known == dims:
            self._report_storage_clause(shard)
        tensor = [name for name in known if name.name not in self.data_dims]
        if tensor or shard.otherwise is not None:
            self._tensor(shard, tensor, axes)
        known = [name for name in known if name not in tensor]
        if tensor and not known:
            return
        for name in known:
            self.splits.setdefault(name.name, []).append((axes, name.span))
        if shard.via is not None:
            self._method(shard, known, axes)
        elif shard.within is not None and not kinds:
            self._refuse("E0494", shard.within.span, "splitting a dim inside some parts only")

    def _is_dim(self, name: tree.Name) -> bool:
        if name.name in self.program.dims:
            return True
        near = nearest(name.name, [*self.program.dims, *STORAGE])
        self.report.error(
            "E0405",
            name.span,
            f"`{name.name}` is neither a dimension nor params, grads or optim",
            "cannot be sharded",
            notes=["a rule speaks of the file's dims, never of names that a block gives them"],
            helps=[f"did you mean `{near}`?"] if near else [],
        )
        return False

    # --------------------------------------------------------------------------- tensors

    def _tensor(self, shard: tree.Shard, dims: list[tree.Name], axes: tuple[str, ...]) -> None:
        """`tp: shard heads, kv, ff, vocab else S`."""
        otherwise = shard.otherwise
        if otherwise is not None and not self._is_otherwise(otherwise, dims):
            return
        for name in dims:
            if not self._occurs(name.name):
                self.report.error(
                    "E0402", name.span, f"no tensor has the dim `{name.name}`", "nothing to split"
                )
                return
            alone = "or leave it out of the rule, which keeps it whole on every rank"
            self._check_divides(name.name, axes, name.span, alone)
        if shard.within is not None and shard.via is None:
            self._refuse("E0494", shard.within.span, "splitting a dim inside some parts only")
        elif shard.via is not None:
            title = "no method moves a dim of parameters"
            self.report.error("E0402", shard.via.span, title, "nothing to move")
        rest = otherwise.name if otherwise is not None else None
        rules = {name.name: name.span for name in dims}
        if otherwise is not None:
            rules[otherwise.name] = otherwise.span
        made = TensorSplit(axes, tuple(name.name for name in dims), rest, rules)
        self.tensor = made if self.tensor is None else self._both(self.tensor, made)

    def _is_otherwise(self, name: tree.Name, dims: list[tree.Name]) -> bool:
        """Whether `else` stands beside dims of parameters and names a dim of the data."""
        if not dims:
            title = "`else` is for tensors without the dims before it, and none is of parameters"
            helps = ["name dims of parameters before it: `shard heads, kv, ff, vocab else S`"]
            self.report.error("E0414", name.span, title, "has no meaning here", helps=helps)
            return False
        if not self._is_dim(name):
            return False
        if name.name in self.data_dims:
            return True
        shown = ", ".join(sorted(self.data_dims))
        self.report.error(
            "E0414",
            name.span,
            f"`else` takes a dim of the data, and `{name.name}` is none",
            "has no meaning here",
            notes=[f"dims of the data: {shown}"],
        )
        return False

    def _both(self, first: TensorSplit, second: TensorSplit) -> TensorSplit:
        """Two rules over the same axes add up."""
        if first.axes != second.axes:
            self.report.error(
                "E0494",
                second.rule,
                "splitting parameters over two sets of axes is not built yet",
                f"over `{'*'.join(second.axes)}`",
                also=[(first.rule, f"over `{'*'.join(first.axes)}`")],
                helps=["name all dims in one rule, over one axis or a product of axes"],
            )
            return first
        if None not in (first.otherwise, second.otherwise) and first.otherwise != second.otherwise:
            assert second.otherwise is not None
            self.report.error(
                "E0407",
                second.rules[second.otherwise],
                "two rules say what is split in tensors without these dims",
                "and here",
                also=[(first.rules[first.otherwise or ""], "said here")],
                helps=["say it once"],
            )
        return TensorSplit(
            first.axes,
            tuple(dict.fromkeys((*first.dims, *second.dims))),
            first.otherwise or second.otherwise,
            {**second.rules, **first.rules},
        )

    def _occurs(self, dim: str) -> bool:
        shapes = [t.parameter.shape for t in self.model.tensors.values()]
        shapes += [kind.shape for made in self.program.classes.values() for _, kind in made.inputs]
        shapes += [kind.shape for made in self.program.classes.values() for _, kind in made.results]
        return any(dim in shape_names(shape) for shape in shapes)

    def _refuse(self, code: str, span: Span, what: str) -> None:
        instead = {
            "E0492": "use `ulysses` for long sequences, and `shard params` for large models",
        }
        self.report.error(
            code,
            span,
            f"this version of specc understands {what} and cannot build it yet",
            "not built yet",
            helps=[instead[code]] if code in instead else ["leave it out for now"],
        )

    def _split(self, dim: str, found: list[tuple[tuple[str, ...], Span]]) -> Split:
        """Several axes on one dim: the one further out in the mesh is the major one."""
        named = {name for axes, _ in found for name in axes}
        axes = tuple(axis.name for axis in self.mesh.axes if axis.name in named)
        self._check_divides(dim, axes, found[-1][1])
        return Split(dim, axes, found[0][1])

    def _check_divides(self, dim: str, axes: tuple[str, ...], span: Span, *helps: str) -> None:
        size, degree = self.sizes.get(dim, 0), self.mesh.degree(axes)
        if size % degree == 0:
            return
        shown = "*".join(axes)
        near = [n for n in divisors(size) if n < degree][-1:] + [
            n for n in divisors(size) if n > degree
        ][:1]
        self.report.error(
            "E0406",
            span,
            f"`{dim}` = {size} does not divide over {shown} = {degree}",
            f"{size} / {degree} = {size / degree:.6g}",
            also=[(self.program.dims[dim].span, f"{dim} is declared here")],
            helps=[
                f"use {shown} = {' or '.join(map(str, near))}, or a `{dim}` that {degree} divides",
                *helps,
            ],
        )

    def _check_otherwise(self) -> None:
        """The dim of `else` divides over the axes that split it anyhow and those of the rule."""
        tensor = self.tensor
        if tensor is None or tensor.otherwise is None:
            return
        outer = {name for axes, _ in self.splits.get(tensor.otherwise, ()) for name in axes}
        axes = tuple(axis.name for axis in self.mesh.axes if axis.name in outer)
        self._check_divides(tensor.otherwise, (*axes, *tensor.axes), tensor.rules[tensor.otherwise])

    # --------------------------------------------------------------------------- methods

    def _method(self, shard: tree.Shard, dims: list[tree.Name], axes: tuple[str, ...]) -> None:
        assert shard.via is not None
        function = shard.via.function if isinstance(shard.via, tree.Call) else shard.via
        name = function.span.text
        record = find("methods", name)
        if isinstance(record, Later) or (record is not None and not record.lowered):
            self._refuse("E0492", shard.via.span, f"`{name}`")
            return
        made = constructor(shard.via, self.model.scope, "methods", "method", known_names("methods"))
        region = self.model.select(shard.within) if shard.within is not None else None
        if isinstance(made, Unknown) or (shard.within is not None and region is None):
            return
        within = self.model.inside(region.parts) if region is not None else None
        if not dims:
            title = f"`{name}` moves a dim, and this rule splits none"
            self.report.error("E0402", shard.via.span, title, "nothing to move")
        for dim in dims:
            method = Method(name, axes, dim.name, made.settings, within, shard.via.span)
            self._check_alone(method)
            self.methods.append(method)

    def _check_alone(self, method: Method) -> None:
        """One dim is moved in one way: report a method that meets another on the same parts.

        A ring and Ulysses may share a dim over axes of their own.
        """
        for other in self.methods:
            if other.dim == method.dim and _meet(other.within, method.within):
                if {other.name, method.name} == {"ring", "ulysses"} and not (
                    set(other.axes) & set(method.axes)
                ):
                    self._check_order(*sorted((other, method), key=lambda each: each.name))
                    continue
                self.report.error(
                    "E0407",
                    method.rule,
                    f"two methods move `{method.dim}` in the same parts",
                    "and here",
                    also=[(other.rule, "moved here")],
                    helps=["say it once, or keep them apart with `within`"],
                )
                return

    def _check_order(self, ring: Method, ulysses: Method) -> None:
        """What Ulysses gathers is one piece of the ring: its axes lie inside of the ring's."""
        order = [axis.name for axis in self.mesh.axes]
        if order.index(ring.axes[-1]) < order.index(ulysses.axes[0]):
            return
        outer, inner = "*".join(ulysses.axes), "*".join(ring.axes)
        self.report.error(
            "E0420",
            ulysses.rule,
            f"Ulysses over `{outer}` gathers scattered pieces of `{ring.dim}`: `{inner}` is inside",
            f"gathers `{ring.dim}` over `{outer}`",
            also=[(ring.rule, f"keys and values travel around `{inner}`")],
            helps=[f"put `{inner}` before `{outer}` in the mesh, or swap the two methods"],
        )

    # --------------------------------------------------------------------------- storage

    def _storage(self, shard: tree.Shard, kinds: list[tree.Name], axes: tuple[str, ...]) -> None:
        if shard.within is not None:
            self._refuse("E0494", shard.within.span, "another storage for some parts")
            return
        kind = max((name.name for name in kinds), key=STORAGE.index)
        units = self.model.select_all(shard.per) if shard.per else None
        lines = flatten(shard.attrs, (), "file")
        settings = fill("shard", (RESHARD,), written_settings(lines), self.model.scope, shard.span)
        if isinstance(settings, Unknown) or (shard.per and units is None):
            return
        if units is not None and units.direct:
            title = "a unit is a part; this selects parameters"
            self.report.error("E0401", shard.per[0].span, title, "no part")
            return
        reshard = settings["reshard_after_forward"]
        if kind != "params" and reshard is True:
            self.report.error(
                "E0414",
                lines[0].span,
                f"`shard {kind}` keeps whole parameters after forward",
                "this would free them",
                helps=["write `shard params`, or leave the setting out"],
            )
        per = shard.per[0].span.to(shard.per[-1].span) if shard.per else None
        parts = self.model.acting(units.parts) if units is not None else frozenset[str]()
        empty = [path for path in sorted(parts) if not self.model.tensors_of([path])]
        if empty:
            title = f"`{spelled(empty[0])}` holds no parameters, so it is no unit"
            self.report.error("E0402", shard.per[0].span, title, "nothing to gather")
            return
        kept = reshard if isinstance(reshard, bool) else None
        self.storages.append(StorageRule(kind, axes, parts, kept, shard.span, per))

    def _report_storage_clause(self, shard: tree.Shard) -> None:
        clause = "per" if shard.per else "{ }"
        span = shard.per[0].span if shard.per else shard.attrs[0].span
        self.report.error(
            "E0414",
            span,
            f"`{clause}` is about storage, and this rule shards no params, grads or optim",
            "has no meaning here",
            helps=["write `shard params per Block`"],
        )

    def _storage_of_all(self) -> StorageRule | None:
        """One storage; two rules that differ only by their axes are one over the product."""
        if not self.storages:
            return None
        first = self.storages[0]
        for other in self.storages[1:]:
            if attrs.evolve(other, axes=first.axes) != first:
                self.report.error(
                    "E0415",
                    other.span,
                    "two rules say where parameters, gradients or optimizer state lie",
                    "and here",
                    also=[(first.span, "here")],
                    helps=["say it once, over a product of axes: `dp*cp: shard params per Block`"],
                )
                return first
        named = {name for rule in self.storages for name in rule.axes}
        axes = tuple(axis.name for axis in self.mesh.axes if axis.name in named)
        return attrs.evolve(first, axes=axes)

    def _check_duplicates(self, splits: tuple[Split, ...]) -> None:
        splitting = [(split.dim, split.axes, split.rule) for split in splits]
        if self.tensor is not None:
            splitting.append((self.tensor.dims[0], self.tensor.axes, self.tensor.rule))
        for dim, axes, rule in splitting:
            for name in sorted(self.duplicates.keys() & set(axes)):
                self.report.error(
                    "E0407",
                    self.duplicates[name],
                    f"`{name}` is told to replicate and to split `{dim}`",
                    "replicate here",
                    also=[(rule, f"splits `{dim}` here")],
                    helps=["drop one of the two rules"],
                )


def _meet(left: frozenset[str] | None, right: frozenset[str] | None) -> bool:
    """Whether two regions share a part; None is the whole model."""
    return left is None or right is None or bool(left & right)


def divisors(number: int) -> list[int]:
    """All divisors in rising order, for sizes up to a few millions quickly."""
    small = [n for n in range(1, int(min(number, 10**12) ** 0.5) + 1) if number % n == 0]
    large = [number // n for n in reversed(small) if n * n != number]
    return small + large
