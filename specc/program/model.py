"""Classes, parts and values of a Program."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.program.dims import Entry, Shape
    from specc.source import Span
    from specc.syntax import tree

# --------------------------------------------------------------------------------- settings


@attrs.frozen
class Given:
    """A setting as written at a call, to be evaluated when a Situation is known.

    `expr` may name dims, lets, axes and, inside a block, the block's own static settings and list
    indices.
    """

    name: str
    expr: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class StaticSetting:
    """A typed entry of a block's `[ ]`, such as `window: int = none`."""

    name: str
    kind: str
    default: tree.Expr | None
    span: Span = attrs.field(eq=False, repr=False)


# ------------------------------------------------------------------------------------ types


@attrs.frozen
class ValueType:
    """Dtype and shape of a value.

    Args:
        dtype: `float` (whatever the precision rules say), `i64`, `bool`, or an explicit `fp32`,
            `bf16`, `fp16`.
    """

    dtype: str
    shape: Shape


# ------------------------------------------------------------------------------------ parts


@attrs.frozen
class Parameter:
    """One tensor of a leaf part.

    Args:
        name: last word of its state-dict name; empty for `Param` and `Buffer`, whose path is the
            part's.
        init: the default draw, a word of the init vocabulary with its arguments evaluated later:
            `fan_in`, `normal`, `ones`, `zeros`.
        trained: false for a Buffer.
    """

    name: str
    shape: Shape
    init: str
    trained: bool = True


@attrs.frozen
class Leaf:
    """A part of the vocabulary, such as `Linear(d -> ff, bias = false)`.

    Args:
        kind: name of its record in `vocabulary/parts`.
        dims: the record's dim letters bound to entries.
        settings: only those that were given; `init` among them where the part says how its weight
            starts.
    """

    kind: str
    dims: Mapping[str, Entry] = attrs.field(eq=False)
    settings: tuple[Given, ...]
    parameters: tuple[Parameter, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Instance:
    """A block used as a part; `block` is a key of `Program.classes`."""

    block: str
    settings: tuple[Given, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Foreign:
    """An extern class used as a part; `extern` is a key of `Program.externs`."""

    extern: str
    dims: Mapping[str, Entry] = attrs.field(eq=False)
    parameters: tuple[Parameter, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Chain:
    """`a -> b -> c` as a part: elements `0, 1, 2`, as in `nn.Sequential`."""

    items: tuple[What, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class PartList:
    """A flat list of parts: `repeat n Block`, `[A, B]`, `repeat n [A, B]`; elements `0 .. n-1`.

    Args:
        items: the pattern, cycled until `count` parts exist; an item may itself be a counted
            PartList inside an
            uncounted one (`[repeat 3 Dense, Sparse]`), whose elements are spliced in.
        count: None when the pattern is the whole list.
        index: the name that a `repeat .. as i` gives to the element's number.
    """

    items: tuple[What, ...]
    count: tree.Expr | None
    index: str | None
    span: Span = attrs.field(eq=False, repr=False)


What: TypeAlias = "Leaf | Instance | Foreign | Chain | PartList"


@attrs.frozen
class Part:
    """A named submodule of a class."""

    name: str
    what: What
    span: Span = attrs.field(eq=False, repr=False)


# ----------------------------------------------------------------------------------- values


@attrs.frozen
class Ref:
    """A value by its name in the block: an input, or what a statement bound."""

    name: str
    type: ValueType
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class PartValue:
    """The tensor of a `Param` or `Buffer` part, used as a value."""

    part: str
    type: ValueType
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Scalar:
    """A number in a value expression: literals, dims, lets, settings and functions of them."""

    expr: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class ApplyPart:
    """A part applied to values.

    Args:
        part: name of the part in this class.
        index: element of a list part, for `blocks[3](x)`; None for the part itself.
        types: one per result; several only for blocks with several results.
    """

    part: str
    index: tree.Expr | None
    arguments: tuple[Value, ...]
    types: tuple[ValueType, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class ApplyFunction:
    """A function of the vocabulary, or an extern function, applied to values.

    Args:
        function: name of its record; of the extern if `foreign`.
        dims: the record's letters bound to entries; those of `..` are what the arguments have
            besides.
        settings: only those given; values among them (`keys = mask`) lie in `named`.
    """

    function: str
    arguments: tuple[Value, ...]
    settings: tuple[Given, ...]
    dims: Mapping[str, Entry] = attrs.field(eq=False)
    types: tuple[ValueType, ...]
    span: Span = attrs.field(eq=False, repr=False)
    foreign: bool = False


@attrs.frozen
class Arithmetic:
    """`a + b`, `a * b`, `-a` (op `neg`, no right side): elementwise, broadcast by name."""

    op: str
    left: Value
    right: Value | None
    type: ValueType
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Rearrange:
    """`x as [..]`: same atoms, other grouping or order.

    Args:
        source: the value's shape, opened so that both shapes have the same atoms.
        target: `type.shape`, opened likewise; entry by entry as many as the shape has.
    """

    value: Value
    source: Shape
    target: Shape
    type: ValueType
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Cast:
    """An annotated value, `h: bf16[..] = x`."""

    value: Value
    type: ValueType
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Move:
    """A value brought from one placement to another; only a Plan's statements have it.

    Args:
        kind: function of `parts/pieces.py`: `gather`, `collect`, `enter`, `piece`, `scatter_sum`
            or `sum_over`; or `shared_heads` of `parts/attention.py`.
        position: of the entry along which ranks have pieces; None where there is none.
        type: as the value's own: a shape is that of the whole.
        heads: of `shared_heads`, the query heads that share the key heads.
    """

    kind: str
    value: Value
    position: int | None
    type: ValueType
    span: Span = attrs.field(eq=False, repr=False)
    heads: Entry | None = None


Value: TypeAlias = (
    "Ref | PartValue | Scalar | ApplyPart | ApplyFunction | Arithmetic | Rearrange | Cast | Move"
)


@attrs.frozen
class Assign:
    """A statement `q, k, v = split(y)`; `_` discards a result."""

    names: tuple[str, ...]
    value: Value
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Return:
    """The last statement of a block, `return x, aux`."""

    values: tuple[Value, ...]
    span: Span = attrs.field(eq=False, repr=False)


Statement: TypeAlias = "Assign | Return"


@attrs.frozen
class Tie:
    """Two parameters that are one tensor: `left` follows `right`, whose path and init hold.

    Args:
        left, right: paths inside the class, such as `("head", "weight")`.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class BlockClass:
    """One block under one binding of its dims.

    Args:
        key: unique among the Program's classes; the block's name, with a suffix if it has several
            bindings.
        name: the block's name.
        inputs: name and type of every input, in order.
        results: name (None where not written) and type of every result.
        checks: `check` lines of the body, evaluated per Situation.
    """

    key: str
    name: str
    statics: tuple[StaticSetting, ...]
    inputs: tuple[tuple[str, ValueType], ...]
    results: tuple[tuple[str | None, ValueType], ...]
    parts: tuple[Part, ...]
    statements: tuple[Statement, ...]
    ties: tuple[Tie, ...]
    checks: tuple[tree.Check, ...]
    binding: Mapping[str, Entry] = attrs.field(eq=False)
    span: Span = attrs.field(eq=False, repr=False)

    def part(self, name: str) -> Part:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)
