"""Which axes split which dims of values, and whether every use of a split dim allows it."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import TYPE_CHECKING

from specc.plan.tensor import changed, local_heads, splitting
from specc.program import model
from specc.program.dims import Entry, names, show
from specc.program.walk import values_of
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.record import Binding
from specc.vocabulary.signature import match, parse_signature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specc.check.layout import AxisRules
    from specc.check.selectors import Tree
    from specc.diagnostics import Report
    from specc.plan.facts import Mesh, Method
    from specc.program.model import ApplyFunction, Value
    from specc.program.program import LossTerm, Program
    from specc.source import Span
    from specc.vocabulary.record import PartRecord


class Placement:
    """Checks one layout's splits against every use of a split dim.

    Args:
        rules: of the layout.
        sizes: size of every dim.
    """

    def __init__(
        self,
        program: Program,
        unfolded: Tree,
        mesh: Mesh,
        rules: AxisRules,
        sizes: Mapping[str, int],
    ) -> None:
        self.program = program
        self.unfolded = unfolded
        self.mesh = mesh
        self.report: Report = unfolded.report
        self.splits = {split.dim: split for split in rules.splits}
        self.methods = rules.methods
        self.tensor = rules.tensor
        self.sizes = sizes
        self.served: set[Method] = set()

    def check(self) -> None:
        """Report uses that need a split dim whole, and methods that serve none."""
        for key, paths in self._uses().items():
            for value in values_of(self.program.classes[key].statements):
                self._value(value, key, paths)
        for term in self.program.train.loss if self.program.train else ():
            self._loss(term)
        for method in self.methods if not self.report.failed else ():
            if method not in self.served:
                self.report.error(
                    "E0402",
                    method.rule,
                    f"`{method.name}` moves nothing: no call needs `{method.dim}` whole",
                    "nothing to do",
                    helps=["leave `via` out"],
                )

    def _uses(self) -> dict[str, list[str]]:
        """Paths of the parts that are made from each class."""
        uses: dict[str, list[str]] = {}
        for path, node in self.unfolded.parts.items():
            if node.block is not None:
                uses.setdefault(node.block.key, []).append(path)
        return uses

    # ------------------------------------------------------------------------------ uses

    def _value(self, value: Value, key: str, paths: list[str]) -> None:
        match value:
            case model.ApplyFunction():
                self._function(value, paths)
            case model.ApplyPart():
                self._part(value, key)
            case model.PartValue(part, kind):
                # every rank holds the whole parameter, and nothing takes its piece of it
                self._need_whole(part, kind.shape, value.span)
            case _:
                pass

    def _function(self, call: ApplyFunction, paths: list[str]) -> None:
        if call.foreign:
            self._foreign(call.function, call.dims, call.span)
            return
        record = find("functions", call.function)
        if not record.takes:
            self._need_whole(call.function, changed(call), call.span)
            return
        moved: dict[Method, None] = {}
        for letter, entry in call.dims.items():
            for name in self._split_in(entry) if letter not in record.split else ():
                can_move = letter in record.context
                methods = self._methods_for(name, paths) if can_move else []
                if not methods:
                    self._report_whole(call.function, name, call.span, can_move=can_move)
                moved |= dict.fromkeys(methods)
        for method in moved:
            self.served.add(method)
            self._check_method(method, call)

    def _part(self, call: model.ApplyPart, key: str) -> None:
        what = _applied(self.program.classes[key].part(call.part).what)
        for leaf in what:
            if isinstance(leaf, model.Foreign):
                self._foreign(leaf.extern, leaf.dims, call.span)
            elif isinstance(leaf, model.Leaf):
                record = find("parts", leaf.kind)
                needed = [
                    at for at in record.letters if at not in record.split and _takes(record, at)
                ]
                self._need_whole(
                    leaf.kind, [leaf.dims[at] for at in needed if at in leaf.dims], call.span
                )

    def _foreign(self, name: str, dims: Mapping[str, Entry], span: Span) -> None:
        """An extern: what it does not list stays whole, and sums go with a tensor rule alone."""
        declared = self.program.externs[name].declaration
        self._need_whole(name, _not_declared(dims, declared), span)
        for summed in declared.sum:
            for dim in self._split_in(dims.get(summed.name, ())):
                split = self.splits[dim]
                self.report.error(
                    "E0494",
                    summed.span,
                    f"`{name}` sums over `{dim}`, a dim of the data: adding up over the ranks that "
                    "split it is not built yet",
                    "summed here",
                    also=[(split.rule, f"splits `{dim}` over `{'*'.join(split.axes)}`")],
                    helps=[
                        f"drop the rule that splits `{dim}`, or split it by `else` of a tensor rule"
                    ],
                )

    def _need_whole(self, what: str, entries: Iterable[Entry], span: Span) -> None:
        for entry in entries:
            for name in self._split_in(entry):
                self._report_whole(what, name, span, can_move=False)

    def _split_in(self, entry: Entry) -> list[str]:
        return [name for name in dict.fromkeys(names(entry)) if name in self.splits]

    def _loss(self, term: LossTerm) -> None:
        record = find("losses", term.function)
        binding = Binding({})
        for operand, kind in zip(parse_signature(record.takes).operands, term.types, strict=False):
            match(operand, kind.shape, binding)
        self._need_whole(
            term.function,
            [binding.letters[letter] for letter in record.whole if letter in binding.letters],
            term.span,
        )

    # --------------------------------------------------------------------------- methods

    def _methods_for(self, dim: str, paths: list[str]) -> list[Method]:
        """The methods that move a dim over all its axes in all of these parts; else none."""
        found: dict[Method, None] = {}
        for path in paths:
            serving = [
                method for method in self.methods if method.dim == dim and method.acts_in(path)
            ]
            if {axis for each in serving for axis in each.axes} != set(self.splits[dim].axes):
                return []
            found |= dict.fromkeys(serving)
        return list(found)

    def _check_method(self, method: Method, call: ApplyFunction) -> None:
        if "H" in call.dims and "K" in call.dims:
            checks = {"ulysses": self._check_ulysses, "ring": self._check_ring}
            checks[method.name](method, call)

    def _check_ring(self, method: Method, call: ApplyFunction) -> None:
        """Whether keys are split as queries are."""
        if call.dims["S"] != call.dims["T"]:
            self._report_whole(call.function, method.dim, call.span, can_move=False)

    def _check_ulysses(self, method: Method, call: ApplyFunction) -> None:
        """Whether Ulysses can give every rank whole heads, queries' and keys' alike."""
        heads, kv = call.dims["H"], call.dims["K"]
        degree = self.mesh.degree(method.axes)
        wanted = str(method.settings.get("heads", ""))
        major = heads[0][0] if len(heads) == 1 and heads[0] else None
        if major != wanted:
            self.report.error(
                "E0410",
                method.rule,
                f"`{method.name}({wanted})` cannot split `{wanted}`: heads are `{show(heads)}`",
                f"moves `{method.dim}` to `{wanted}`",
                also=[(call.span, f"heads are `{show(heads)}` here")],
            )
            return
        parts = self.mesh.degree(self.tensor.axes) if self.tensor is not None else 1
        heads_count, kv_count = local_heads(call, self.tensor, parts, self.sizes)
        split = splitting(heads, self.tensor) if self.tensor is not None else None
        per_rank = f" / {'*'.join(self.tensor.axes)}" if self.tensor is not None and split else ""
        repeats = method.settings.get("repeat_kv") is True
        if heads_count % degree:
            self._report_heads(method, show(heads), per_rank, heads_count, degree, ())
        elif kv_count % degree and not repeats:
            helps = [
                "or `repeat_kv = true`, which gives every rank copies of the kv heads it needs"
            ]
            self._report_heads(method, show(kv), per_rank, kv_count, degree, helps)
        elif kv_count % degree and heads_count % lcm(kv_count, degree):
            self._report_heads(method, show(kv), per_rank, kv_count, degree, ())

    def _report_heads(
        self,
        method: Method,
        heads: str,
        per_rank: str,
        count: int,
        degree: int,
        helps: Iterable[str],
    ) -> None:
        shown = "*".join(method.axes)
        fitting = [n for n in range(1, degree) if count % n == 0]
        self.report.error(
            "E0410",
            method.rule,
            f"Ulysses over `{shown}` = {degree} needs `{heads}{per_rank}` to divide: "
            f"{count} / {degree}",
            f"moves heads to `{shown}` inside attention()",
            also=self._declared(heads),
            helps=[f"use {shown} = {fitting[-1]}", *helps] if fitting else list(helps),
        )

    def _declared(self, heads: str) -> list[tuple[Span, str]]:
        declared = self.program.dims.get(heads)
        return [(declared.span, f"{self.sizes[heads]} heads")] if declared is not None else []

    def _report_whole(self, what: str, name: str, span: Span, *, can_move: bool) -> None:
        split = self.splits[name]
        axes = "*".join(split.axes)
        way = f"move it over all of {axes}: add `via ulysses(heads)` or `via ring` to its one rule"
        helps = [way if can_move else f"drop the rule that splits `{name}`"]
        self.report.error(
            "E0410",
            split.rule,
            f"`{what}` needs `{name}` whole, and `{axes}` splits it",
            f"splits `{name}`",
            also=[(span, f"needs all of `{name}`")],
            helps=helps,
        )


def _not_declared(dims: Mapping[str, Entry], declared: tree.Extern) -> list[Entry]:
    """Entries of an extern's dims that its declaration does not let an axis split."""
    free = {name.name for name in (*declared.split, *declared.sum)}
    return [entry for name, entry in dims.items() if name not in free]


def _takes(record: PartRecord, letter: str) -> bool:
    """Whether a letter is a dim of the part's input or result, and not only of its weights."""
    signature = parse_signature(record.takes)
    return any(letter in operand.letters for operand in (*signature.operands, *signature.results))


def _applied(what: model.What) -> tuple[model.What, ...]:
    """The leaves and externs that a value passes through when a part is applied."""
    if isinstance(what, model.Chain | model.PartList):
        return tuple(leaf for item in what.items for leaf in _applied(item))
    return (what,)
