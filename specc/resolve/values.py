"""Values of a block: expressions to typed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model
from specc.program.dims import ONE, show, show_shape
from specc.resolve.apply import apply_draft
from specc.resolve.calls import apply_function
from specc.resolve.rearrange import rearrange
from specc.resolve.scope import Unresolved
from specc.syntax import tree
from specc.vocabulary.find import find, known_names

if TYPE_CHECKING:
    from specc.program.dims import Shape
    from specc.program.model import Value, ValueType
    from specc.resolve.body import Body
    from specc.source import Span

CONSTANT_FUNCTIONS = ("sqrt", "ln", "exp", "min", "max", "ceil_div", "round_up")
ARITHMETIC = ("+", "-", "*", "/")


class Values:
    """Reads value expressions of one block's body."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.report = body.report

    def function_names(self) -> tuple[str, ...]:
        """Names of all functions, for near matches."""
        return known_names("functions")

    # ------------------------------------------------------------------------------ types

    def types_of(self, value: Value) -> tuple[ValueType, ...] | None:
        """Types of what an expression gives; None for a plain number."""
        if isinstance(value, model.Scalar):
            return None
        if isinstance(value, (model.ApplyPart, model.ApplyFunction)):
            return value.types
        return (value.type,)

    def type_of(self, value: Value, span: Span) -> ValueType:
        """Type of an expression that must give one tensor."""
        types = self.types_of(value)
        if types is not None and len(types) == 1:
            return types[0]
        said = "a plain number" if types is None else f"{len(types)} values"
        self.report.error("E0222", span, f"expected one tensor, found {said}", said)
        raise Unresolved

    # ---------------------------------------------------------------------------- reading

    def read(self, expr: tree.Expr, *, several: bool = False) -> Value:
        """The value of an expression; `several` allows a call with several results."""
        value = self._read(expr)
        types = self.types_of(value)
        if not several and types is not None and len(types) > 1:
            self.type_of(value, expr.span)
        return value

    def _read(self, expr: tree.Expr) -> Value:
        if self.is_scalar(expr):
            return self._scalar(expr)
        match expr:
            case tree.Name(name, span):
                return self._name(name, span)
            case tree.Group(inner):
                return self._read(inner)
            case tree.Negate(operand, span):
                value = self.read(operand)
                return model.Arithmetic("neg", value, None, self.type_of(value, span), span)
            case tree.Binary(op, left, right, span) if op in ARITHMETIC:
                return self._arithmetic(op, left, right, span)
            case tree.Pipe(left, tree.As(operand, shape, span), pipe_span):
                # `x -> f as [..]` means `(x -> f) as [..]`
                return self._read(tree.As(tree.Pipe(left, operand, pipe_span), shape, span))
            case tree.Pipe(left, right, span):
                return self._pipe(left, right, span)
            case tree.As(operand, shape, span):
                value = self.read(operand)
                return rearrange(self, value, self.type_of(value, operand.span), shape, span)
            case tree.Call(function, arguments, span):
                return self._call(function, (), arguments, span)
            case _:
                self.report.error(
                    "E0224", expr.span, "this is not a value of a block", "not a value"
                )
                raise Unresolved

    # ---------------------------------------------------------------------------- scalars

    def is_scalar(self, expr: tree.Expr) -> bool:
        """Whether an expression is a plain number: literals, dims, lets and settings, no tensor."""
        match expr:
            case tree.Number():
                return True
            case tree.Name(name):
                body = self.body
                if name in body.types or name in body.parts or name in body.failed_parts:
                    return False
                bound = body.bound
                known = name in bound.statics or name in bound.indices or name in bound.scope.lets
                return known or bound.is_dim(name)
            case tree.Negate(operand) | tree.Group(operand):
                return self.is_scalar(operand)
            case tree.Binary(_, left, right):
                return self.is_scalar(left) and self.is_scalar(right)
            case tree.Call(tree.Name(name), arguments) if name in CONSTANT_FUNCTIONS:
                return bool(arguments) and all(self.is_scalar(a.value) for a in arguments)
            case _:
                return False

    def _scalar(self, expr: tree.Expr) -> model.Scalar:
        scope = self.body.bound.scope
        for name in scalar_names(expr):
            if (
                name in scope.dims
                and name not in self.body.bound.formals
                and self.body.bound.imported
            ):
                self.body.bound.dim_entry(name, expr.span)
            scope.used.add(name)
        return model.Scalar(expr, expr.span)

    # ------------------------------------------------------------------------------ names

    def _name(self, name: str, span: Span) -> Value:
        body = self.body
        if name in body.types:
            body.used.add(name)
            if body.types[name].dtype == "unknown":
                raise Unresolved
            return model.Ref(name, body.types[name], span)
        if name in body.parts:
            part = body.parts[name]
            if isinstance(part, model.Leaf) and part.kind in ("Param", "Buffer"):
                body.used.add(name)
                return model.PartValue(
                    name, model.ValueType("float", part.parameters[0].shape), span
                )
            body.used.add(name)
            self.report.error(
                "E0224",
                span,
                f"`{name}` is a part, not a value",
                "apply it to a value",
                helps=[f"write `{name}(x)`, or `x -> {name}`"],
            )
            raise Unresolved
        self.unknown(name, span)
        raise Unresolved

    def unknown(self, name: str, span: Span) -> None:
        """Report a name that is no value, part or function."""
        body = self.body
        if name in body.failed_parts or name in body.bound.scope.poisoned:
            return
        near = body.near(name)
        self.report.error(
            "E0204",
            span,
            f"unknown part or function `{name}`",
            "not defined here",
            helps=[f"did you mean `{near}`?"] if near else [],
        )

    # ------------------------------------------------------------------------- arithmetic

    def _arithmetic(self, op: str, left: tree.Expr, right: tree.Expr, span: Span) -> Value:
        first, second = self.read(left), self.read(right)
        types = [self.types_of(v) for v in (first, second)]
        if types[0] is None or types[1] is None:
            whole = second if types[0] is None else first
            return model.Arithmetic(op, first, second, self.type_of(whole, span), span)
        one, two = types[0][0], types[1][0]
        shape = broadcast(one.shape, two.shape)
        if shape is None:
            self._report_shapes(op, (left, one), (right, two))
            raise Unresolved
        dtype = one.dtype if one.dtype == two.dtype else "float"
        return model.Arithmetic(op, first, second, model.ValueType(dtype, shape), span)

    def _report_shapes(
        self, op: str, left: tuple[tree.Expr, ValueType], right: tuple[tree.Expr, ValueType]
    ) -> None:
        verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}[op]
        (one, one_type), (two, two_type) = left, right
        self.report.error(
            "E0212",
            two.span,
            f"cannot {verb} {show_shape(one_type.shape)} and {show_shape(two_type.shape)}",
            f"this is {show_shape(two_type.shape)}",
            also=[(one.span, f"this is {show_shape(one_type.shape)}")],
            notes=_why_not_equal(one_type.shape, two_type.shape),
        )

    # ------------------------------------------------------------------------------ calls

    def _pipe(self, left: tree.Expr, right: tree.Expr, span: Span) -> Value:
        value = self.read(left, several=True)
        match right:
            case tree.Name() | tree.Item():
                return self._call(right, (value,), (), span)
            case tree.Call(function, arguments):
                return self._call(function, (value,), arguments, span)
            case tree.Group(inner):
                return self._pipe(left, inner, span)
            case _:
                self.report.error(
                    "E0224", right.span, "after `->` stands a part or a function", "neither of them"
                )
                raise Unresolved

    def _call(
        self,
        function: tree.Expr,
        first: tuple[Value, ...],
        arguments: tuple[tree.Argument, ...],
        span: Span,
    ) -> Value:
        match function:
            case tree.Name(name, name_span):
                if name in self.body.parts:
                    return self._call_part(name, None, first, arguments, span)
                return self._call_named(name, name_span, first, arguments, span)
            case tree.Item(tree.Name(name), (index,)) if name in self.body.parts and not isinstance(
                index, (tree.Range, tree.Every)
            ):
                return self._call_part(name, index, first, arguments, span)
            case _:
                self.report.error(
                    "E0224",
                    function.span,
                    "only parts and functions can be applied",
                    "neither of them",
                )
                raise Unresolved

    def _call_part(
        self,
        name: str,
        index: tree.Expr | None,
        first: tuple[Value, ...],
        arguments: tuple[tree.Argument, ...],
        span: Span,
    ) -> Value:
        self.body.used.add(name)
        values = [*first]
        for argument in arguments:
            if argument.name is not None:
                self.report.error(
                    "E0601",
                    argument.span,
                    f"the part `{name}` takes values; its settings stand where it is declared",
                    "by name",
                    also=[(self.body.part_spans[name], "declared here")],
                )
                raise Unresolved
            values.append(self.read(argument.value))
        types = [self._operand_type(value, span) for value in values]
        results = apply_draft(self.body, self.body.parts[name], name, index, types, span)
        return model.ApplyPart(name, index, tuple(values), results, span)

    def _operand_type(self, value: Value, span: Span) -> ValueType:
        if isinstance(value, model.Scalar):
            return model.ValueType("float", ())  # a threaded number, such as an auxiliary loss
        return self.type_of(value, span)

    def _call_named(
        self,
        name: str,
        name_span: Span,
        first: tuple[Value, ...],
        arguments: tuple[tree.Argument, ...],
        span: Span,
    ) -> Value:
        if name in self.body.failed_parts:
            raise Unresolved
        record = find("functions", name)
        if record is not None or name in self.body.bound.scope.externs:
            return apply_function(self, name, record, first, arguments, span, name_span)
        if find("parts", name) is not None or name in self.body.bound.scope.blocks:
            self._report_type_as_function(name, name_span)
        else:
            self.unknown(name, name_span)
        raise Unresolved

    def _report_type_as_function(self, name: str, span: Span) -> None:
        record = find("parts", name)
        simple = record is not None and getattr(record, "arguments", "") == "none"
        if simple and find("functions", name.lower()) is not None:
            helps = [f"as a function it is `{name.lower()}`"]
        else:
            helps = [f"give it a name: `part: {name}(..)`, then `x -> part`"]
        self.report.error(
            "E0218", span, f"`{name}` is a type of part, not a function", "a type", helps=helps
        )


def scalar_names(expr: tree.Expr) -> list[str]:
    """Every name in a scalar expression."""
    match expr:
        case tree.Name(name):
            return [name]
        case tree.Negate(operand) | tree.Group(operand):
            return scalar_names(operand)
        case tree.Binary(_, left, right):
            return [*scalar_names(left), *scalar_names(right)]
        case tree.Call(_, arguments):
            return [name for a in arguments for name in scalar_names(a.value)]
        case _:
            return []


def broadcast(one: Shape, two: Shape) -> Shape | None:
    """The shape of an elementwise result: the smaller one's dims occur, in order, in the larger."""
    larger, smaller = (one, two) if len(one) >= len(two) else (two, one)
    if len(one) == len(two):
        pairs = list(zip(one, two, strict=True))
        if all(a == b or ONE in (a, b) for a, b in pairs):
            return tuple(b if a == ONE else a for a, b in pairs)
        return None
    wanted = [entry for entry in smaller if entry != ONE]
    position = 0
    for entry in larger:
        if position < len(wanted) and entry == wanted[position]:
            position += 1
    return larger if position == len(wanted) else None


def _why_not_equal(one: Shape, two: Shape) -> list[str]:
    if len(one) == len(two):
        differing = [(a, b) for a, b in zip(one, two, strict=True) if a != b]
        if len(differing) == 1:
            a, b = (show(entry) for entry in differing[0])
            return [
                (
                    f"`{a}` and `{b}` are different dims, whatever their sizes: "
                    "a layout may split one of them"
                )
            ]
    return []
