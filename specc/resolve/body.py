"""The body of one block: its parts, values and ties, in order."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from specc.diagnostics import nearest
from specc.program import model
from specc.program.dims import show_shape
from specc.resolve.parts import Draft, draft, has_parameters, settled, uses
from specc.resolve.reserved import why_not_a_part
from specc.resolve.scope import Bound, Unresolved
from specc.resolve.ties import tie
from specc.resolve.types import check_dtype, value_type
from specc.resolve.values import Values
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Generator

    from specc.program.model import ValueType
    from specc.resolve.blocks import Blocks
    from specc.source import Span

UNKNOWN = model.ValueType("unknown", ())


class Body:
    """One block being read: its parts by name, its values by name with their types.

    Attributes:
        inputs, results: types of the signature.
        statements, ties: what has been read.
        sound: whether nothing was wrong so far.
    """

    def __init__(self, blocks: Blocks, block: tree.Block, bound: Bound) -> None:
        self.blocks = blocks
        self.block = block
        self.bound = bound
        self.report = bound.report
        self.inputs: dict[str, ValueType] = {}
        self.results: list[ValueType] = []
        self.parts: dict[str, Draft] = {}
        self.part_spans: dict[str, Span] = {}
        self.failed_parts: set[str] = set()
        self.types: dict[str, ValueType] = {}
        self.value_spans: dict[str, Span] = {}
        self.used: set[str] = set()
        self.statements: list[model.Statement] = []
        self.ties: list[model.Tie] = []
        self.sound = True
        self.values = Values(self)

    def read(self) -> bool:
        """Read the whole block; whether nothing in it was wrong."""
        self._signature()
        for statement in self.block.body:
            if isinstance(statement, tree.Bind) and statement.value is None:
                self._part(statement)
        for statement in self.block.body:
            with self._guard():
                self._statement(statement)
        self._check_return()
        for part in self.parts.values():
            for use in uses(part):
                with self._guard():
                    self.blocks.settle(use, self.bound)
        for statement in self.block.body:
            if isinstance(statement, tree.Tie) and self.sound:
                with self._guard():
                    self.ties.append(tie(self, statement))
        self._report_unused()
        return self.sound

    def settled_parts(self) -> tuple[model.Part, ...]:
        """The parts, every block settled."""
        return tuple(
            model.Part(name, settled(part), self.part_spans[name])
            for name, part in self.parts.items()
        )

    @contextmanager
    def _guard(self) -> Generator[None]:
        try:
            yield
        except Unresolved:
            self.sound = False

    # ------------------------------------------------------------------------- signature

    def _signature(self) -> None:
        for param in self.block.params:
            if param.name in self.inputs:
                self._twice("input", param.name, param.span, self.value_spans[param.name])
                continue
            self.value_spans[param.name] = param.span
            self.types[param.name] = UNKNOWN
            with self._guard():
                kind = value_type(param.type, self.bound)
                self.inputs[param.name] = self.types[param.name] = kind
        for result in self.block.results:
            with self._guard():
                self.results.append(value_type(result.type, self.bound))

    def _twice(self, what: str, name: str, span: Span, first: Span) -> None:
        self.sound = False
        self.report.error(
            "E0203",
            span,
            f"{what} `{name}` is declared twice",
            "again here",
            also=[(first, "first here")],
        )

    # ------------------------------------------------------------------------------ parts

    def _part(self, bind: tree.Bind) -> None:
        if bind.name in self.parts or bind.name in self.failed_parts:
            self._twice("part", bind.name, bind.name_span, self.part_spans[bind.name])
            return
        self.part_spans[bind.name] = bind.name_span
        why = why_not_a_part(bind.name)
        if why is not None:
            self.sound = False
            self.report.error(
                "E0208",
                bind.name_span,
                f"a part cannot be called `{bind.name}`",
                "choose another name",
                notes=[why],
            )
        self.failed_parts.add(bind.name)
        if isinstance(bind.what, tree.Type):
            self.sound = False
            self.report.error(
                "E0224",
                bind.what.span,
                f"`{bind.name}` has a type and no value",
                "a type, not a part",
                helps=[f"give it a value: `{bind.name}: {bind.what.span.text} = ...`"],
            )
            return
        with self._guard():
            self.parts[bind.name] = draft(bind.what, self.bound)
            self.failed_parts.discard(bind.name)

    # ------------------------------------------------------------------------- statements

    def _statement(self, statement: tree.Statement) -> None:
        match statement:
            case tree.Assign():
                self._assign(statement)
            case tree.Bind() if statement.value is not None:
                self._annotated(statement, statement.value)
            case tree.Return():
                self._return(statement)
            case _:
                pass

    def _assign(self, statement: tree.Assign) -> None:
        for name, span in zip(statement.names, statement.name_spans, strict=True):
            self._refuse_part_name(name, span)
        try:
            value = self.values.read(statement.value, several=True)
            types = self.values.types_of(value)
            if types is None:
                self._report_scalar(statement.value)
            if len(types) != len(statement.names):
                self._report_count(statement, len(types))
        except Unresolved:
            self._bind(statement.names, statement.name_spans, [UNKNOWN] * len(statement.names))
            raise
        self._bind(statement.names, statement.name_spans, list(types))
        self.statements.append(model.Assign(statement.names, value, statement.span))

    def _report_scalar(self, expr: tree.Expr) -> NoReturn:
        self.report.error(
            "E0224",
            expr.span,
            "a value of a block is a tensor; this is a plain number",
            "a number",
            helps=["give numbers a name outside the block: `let scale = ...`"],
        )
        raise Unresolved

    def _report_count(self, statement: tree.Assign, count: int) -> None:
        names = len(statement.names)
        self.report.error(
            "E0222",
            statement.span,
            f"{names} names for {count} value{'s' if count != 1 else ''}",
            f"gives {count}",
            helps=["write `_` for a result that is not needed"],
        )
        raise Unresolved

    def _refuse_part_name(self, name: str, span: Span) -> None:
        if name in self.parts:
            self.report.error(
                "E0225",
                span,
                f"`{name}` is a part; a value needs a name of its own",
                "assigned here",
                also=[(self.part_spans[name], "the part")],
            )
            self.sound = False
            raise Unresolved

    def _bind(
        self, names: tuple[str, ...], spans: tuple[Span, ...], types: list[ValueType]
    ) -> None:
        for name, span, kind in zip(names, spans, types, strict=True):
            if name != "_":
                self.types[name] = kind
                self.value_spans[name] = span
                self.used.discard(name)

    def _annotated(self, bind: tree.Bind, expr: tree.Expr) -> None:
        self._refuse_part_name(bind.name, bind.name_span)
        try:
            value = self.values.read(expr)
            kind = self.values.type_of(value, expr.span)
            if not isinstance(bind.what, tree.Type):
                self._report_not_a_type(bind)
            else:
                wanted = value_type(bind.what, self.bound)
                self._check_annotation(bind, wanted, kind)
                value = model.Cast(value, wanted, bind.span) if wanted.dtype != "float" else value
                kind = wanted if wanted.dtype != "float" else kind
        except Unresolved:
            self._bind((bind.name,), (bind.name_span,), [UNKNOWN])
            raise
        self._bind((bind.name,), (bind.name_span,), [kind])
        self.statements.append(model.Assign((bind.name,), value, bind.span))

    def _report_not_a_type(self, bind: tree.Bind) -> None:
        self.report.error(
            "E0224",
            bind.what.span,
            "between `:` and `=` stands a type",
            "not a type",
            helps=["write `name: [B, S, d] = expr`, or `name = expr`"],
        )
        raise Unresolved

    def _check_annotation(self, bind: tree.Bind, wanted: ValueType, kind: ValueType) -> None:
        if wanted.shape != kind.shape:
            self.report.error(
                "E0213",
                bind.span,
                f"`{bind.name}` is {show_shape(kind.shape)}, "
                f"its type says {show_shape(wanted.shape)}",
                f"this is {show_shape(kind.shape)}",
                also=[(bind.what.span, "declared here")],
            )
            raise Unresolved

    # ----------------------------------------------------------------------------- return

    def _return(self, statement: tree.Return) -> None:
        values = tuple(self.values.read(expr, several=True) for expr in statement.values)
        types = [t for value in values for t in self.values.types_of(value) or (UNKNOWN,)]
        self.statements.append(model.Return(values, statement.span))
        if len(self.results) != len(self.block.results):
            raise Unresolved
        if len(types) != len(self.results):
            self.report.error(
                "E0213",
                statement.span,
                f"`{self.block.name}` returns {len(types)} values, "
                f"its signature says {len(self.results)}",
                f"{len(types)} here",
                also=[(self.block.results[0].span, "declared here")],
            )
            raise Unresolved
        for result, wanted, kind in zip(self.block.results, self.results, types, strict=True):
            if kind.shape != wanted.shape:
                self.report.error(
                    "E0213",
                    statement.span,
                    f"`{self.block.name}` returns {show_shape(kind.shape)}, "
                    f"its signature says {show_shape(wanted.shape)}",
                    f"this is {show_shape(kind.shape)}",
                    also=[(result.span, "declared here")],
                )
                raise Unresolved
            check_dtype(self.report, f"return of {self.block.name}", wanted, kind, statement.span)

    def _check_return(self) -> None:
        returns = [s for s in self.block.body if isinstance(s, tree.Return)]
        if not returns and self.block.name in self.bound.scope.incomplete:
            self.sound = False  # the return may be the statement that was left out
            return
        if not returns:
            self.sound = False
            self.report.error(
                "E0213",
                self.block.name_span,
                f"`{self.block.name}` returns nothing",
                "no `return` in its body",
                helps=["end the body with `return value`"],
            )
        elif self.block.body[-1] is not returns[0]:
            self.sound = False
            self.report.error(
                "E0213",
                returns[0].span,
                "`return` stands once, and last",
                "more follows",
            )

    # ----------------------------------------------------------------------------- unused

    def _report_unused(self) -> None:
        if not self.sound or self.block.name in self.bound.scope.incomplete:
            return
        for name, part in self.parts.items():
            if name in self.used:
                continue
            heavy = has_parameters(part)
            note = "its parameters would never get a gradient, and a sharded training stops on that"
            self.report.error(
                "E0215",
                self.part_spans[name],
                f"part `{name}` is never used",
                "declared here, no value flows through it",
                notes=[note] if heavy else [],
                helps=["use it, or remove it"],
                severity="error" if heavy else "warning",
            )
            self.sound = self.sound and not heavy
        for name, span in self.value_spans.items():
            if name not in self.used and not name.startswith("_"):
                what = "input" if name in self.inputs else "value"
                self.report.warning(
                    "E0220", span, f"{what} `{name}` is never used", "not used after this"
                )

    def near(self, name: str) -> str | None:
        """The nearest part, value or function name."""
        return nearest(name, [*self.parts, *self.types, *self.values.function_names()])
