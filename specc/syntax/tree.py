"""The typed syntax tree: what a spec file says, each node with its span."""

from __future__ import annotations

from attrs import field, frozen

from specc.source import Source, Span

# ---------------------------------------------------------------------------- expressions


@frozen
class Name:
    """`heads`."""

    name: str
    span: Span = field(eq=False, repr=False)


@frozen
class Number:
    """`64K`, `3e-4`, `10min`: the value in base units and the kind of its unit.

    Args:
        value: int for whole numbers (`64K` is 65536, `1e12` is an int), else float (`1.0` too);
            bytes, seconds or bytes per second when `unit` says so.
        unit: "" for a plain number, or `bytes`, `seconds`, `rate`.
        text: as written.
    """

    value: int | float
    unit: str
    text: str
    span: Span = field(eq=False, repr=False)


@frozen
class Text:
    """`"data/*.bin"`: the value without quotes and escapes."""

    value: str
    span: Span = field(eq=False, repr=False)


@frozen
class Negate:
    """`-x`."""

    operand: Expr
    span: Span = field(eq=False, repr=False)


@frozen
class Binary:
    """`a * b`, with op one of `+ - * / % == != < <= > >=`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(eq=False, repr=False)


@frozen
class Pipe:
    """`x -> f`, also the arrow of `Linear(d -> ff)`."""

    left: Expr
    right: Expr
    span: Span = field(eq=False, repr=False)


@frozen
class As:
    """`x as [B, S, heads, hd]`."""

    operand: Expr
    shape: Shape
    span: Span = field(eq=False, repr=False)


@frozen
class Attribute:
    """`head.weight`."""

    base: Expr
    name: str
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Argument:
    """One argument of a call: positional when `name` is None."""

    name: str | None
    value: Expr
    span: Span = field(eq=False, repr=False)
    name_span: Span | None = field(default=None, eq=False, repr=False)


@frozen
class Call:
    """`Linear(d -> ff, bias = false)`."""

    function: Expr
    arguments: tuple[Argument, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Range:
    """`0..4` inside an index; either end may be missing."""

    first: Expr | None
    last: Expr | None
    span: Span = field(eq=False, repr=False)


@frozen
class Every:
    """`*` inside an index."""

    span: Span = field(eq=False, repr=False)


@frozen
class Item:
    """`blocks[0..4]`."""

    base: Expr
    indices: tuple[Index, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Repeat:
    """`repeat depth as i Block(layer = i)`."""

    count: Expr
    index: str | None
    body: Expr
    span: Span = field(eq=False, repr=False)


@frozen
class Group:
    """`(a + b)`: kept, because a sum in parentheses is one factor of a shape."""

    inner: Expr
    span: Span = field(eq=False, repr=False)


@frozen
class ListOf:
    """`[0.9, 0.95]`, `[Block(window = 4K), Block]`."""

    items: tuple[Expr, ...]
    span: Span = field(eq=False, repr=False)


Expr = (
    Name
    | Number
    | Text
    | Negate
    | Binary
    | Pipe
    | As
    | Attribute
    | Call
    | Item
    | Repeat
    | Group
    | ListOf
)
Index = Expr | Range | Every


@frozen
class Others:
    """`..` in a shape: any leading dims."""

    span: Span = field(eq=False, repr=False)


@frozen
class Shape:
    """`[.., 3*heads*hd]`."""

    entries: tuple[Expr | Others, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Type:
    """`i64[B, S]`; `dtype` is None where none is written."""

    dtype: str | None
    shape: Shape
    span: Span = field(eq=False, repr=False)


# --------------------------------------------------------------------------- declarations


@frozen
class Edition:
    """`specc 1`."""

    number: Number
    span: Span = field(eq=False, repr=False)


@frozen
class UseItem:
    """`Block as Layer` of a `from` line."""

    name: str
    alias: str | None
    span: Span = field(eq=False, repr=False)


@frozen
class Use:
    """`from "lib/llama.spec" use Block`."""

    path: Text
    items: tuple[UseItem, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class DimDecl:
    """One `name = size` of a `dim` line."""

    name: str
    size: Expr
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Let:
    """`let base_lr = 3e-4`."""

    name: str
    value: Expr
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Check:
    """`check heads % kv == 0, "reason"`."""

    condition: Expr
    reason: str | None
    span: Span = field(eq=False, repr=False)


@frozen
class Static:
    """One entry of a block's `[ ]`: a dim when `kind` is None, else a setting of that kind."""

    name: str
    kind: str | None
    default: Expr | None
    span: Span = field(eq=False, repr=False)


@frozen
class Param:
    """`x: [B, S, d]` of a signature."""

    name: str
    type: Type
    span: Span = field(eq=False, repr=False)


@frozen
class Result:
    """`logits: [B, S, vocab]` of a signature; the name may be missing."""

    name: str | None
    type: Type
    span: Span = field(eq=False, repr=False)


@frozen
class Bind:
    """`attn: Attention`, or with a value `h: [B, S, d] = x`.

    Args:
        what: the part, or the type of the value where there is one.
    """

    name: str
    what: Expr | Type
    value: Expr | None
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Assign:
    """`q, k, v = split(y)`."""

    names: tuple[str, ...]
    value: Expr
    span: Span = field(eq=False, repr=False)
    name_spans: tuple[Span, ...] = field(eq=False, repr=False)


@frozen
class Return:
    """`return x, aux`."""

    values: tuple[Expr, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Tie:
    """`tie head.weight = wte.weight`."""

    left: Expr
    right: Expr
    span: Span = field(eq=False, repr=False)


Statement = Bind | Assign | Return | Tie | Check


@frozen
class Block:
    """A `block`, or the `model` of a file."""

    name: str
    statics: tuple[Static, ...]
    params: tuple[Param, ...]
    results: tuple[Result, ...]
    body: tuple[Statement, ...]
    is_model: bool
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class ExternParam:
    """`param in_proj.weight: [2*state, d]` of an extern; the name is its state-dict name.

    Args:
        trained: false for a saved buffer, `buffer scale: [d]`.
    """

    name: str
    type: Type
    trained: bool
    span: Span = field(eq=False, repr=False)


@frozen
class Extern:
    """`extern "pkg.mod:Class" block Name[dims](inputs) -> outputs { .. }`.

    Args:
        init: the arguments of the constructor; None when there is no `init(..)`.
        split, sum: dims that an axis may split, as names with their spans.
    """

    path: Text
    name: str
    statics: tuple[Static, ...]
    params: tuple[Param, ...]
    results: tuple[Result, ...]
    init: tuple[Argument, ...] | None
    weights: tuple[ExternParam, ...]
    split: tuple[Name, ...]
    sum: tuple[Name, ...]
    settings: tuple[Setting, ...]
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Setting:
    """`lr = 3e-4`, `mesh.dp = rest`, `y: [B, dout] = randn`, `ids, labels = tokens(..)`.

    Args:
        paths: one path, or several names bound by one tuple; each path is a tuple of names.
    """

    paths: tuple[tuple[str, ...], ...]
    type: Type | None
    value: Expr
    span: Span = field(eq=False, repr=False)
    path_spans: tuple[Span, ...] = field(eq=False, repr=False)


@frozen
class Nested:
    """`log { every = 10 }`, `train.data { .. }`."""

    path: tuple[str, ...]
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)
    path_span: Span = field(eq=False, repr=False)


Attr = Setting | Nested


@frozen
class Cluster:
    """`cluster s4000x16 { .. }`."""

    name: str
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Axis:
    """`dp = 16 { rep = 2, fsdp = 8 }`; `world` and `rest` are plain names in `size`."""

    name: str
    size: Expr
    axes: tuple[Axis, ...]
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Mesh:
    """`mesh on s4000x16 { .. }`."""

    cluster: Name | None
    axes: tuple[Axis, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Selector:
    """`each Linear in blocks[0..4] except blocks[3].head`.

    Args:
        each: whether `each` was written.
        target: a type name or a path.
    """

    each: bool
    target: Expr
    within: Expr | None
    without: Expr | None
    span: Span = field(eq=False, repr=False)


@frozen
class Shard:
    """`shard B, params else S per Block via ulysses(heads) within blocks { .. }`."""

    subjects: tuple[Name, ...]
    otherwise: Name | None
    per: tuple[Selector, ...]
    via: Expr | None
    within: Selector | None
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Stage:
    """`stage blocks via pipeline(..) { .. }`."""

    selectors: tuple[Selector, ...]
    via: Expr | None
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Replicate:
    """`replicate`."""

    span: Span = field(eq=False, repr=False)


@frozen
class AxisRule:
    """`dp*cp: shard params per Block`; `axes` are the factors in the order written."""

    axes: tuple[Name, ...]
    action: Shard | Stage | Replicate
    span: Span = field(eq=False, repr=False)


@frozen
class VerbRule:
    """`precision each RMSNorm { compute = fp32 }`; no selectors mean the whole model."""

    verb: str
    selectors: tuple[Selector, ...]
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)
    verb_span: Span = field(eq=False, repr=False)


@frozen
class Layout:
    """`layout long { .. }`; the plain layout has no name."""

    name: str | None
    rules: tuple[AxisRule | VerbRule | Check, ...]
    span: Span = field(eq=False, repr=False)
    name_span: Span | None = field(default=None, eq=False, repr=False)


@frozen
class Train:
    """`train { .. }`."""

    attrs: tuple[Attr, ...]
    rules: tuple[VerbRule, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Launch:
    """`launch torchrun { .. }`."""

    name: str | None
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class Target:
    """`on musa { .. }`."""

    name: str
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


@frozen
class Profile:
    """`profile smoke { .. }`."""

    name: str
    attrs: tuple[Attr, ...]
    span: Span = field(eq=False, repr=False)
    name_span: Span = field(eq=False, repr=False)


Declaration = (
    Edition
    | Use
    | DimDecl
    | Let
    | Check
    | Block
    | Extern
    | Cluster
    | Mesh
    | Layout
    | Train
    | Launch
    | Target
    | Profile
)


@frozen
class File:
    """A whole file: its declarations in order; a `dim` line gives one declaration per name.

    Args:
        poisoned: names that a faulty statement would have bound; uses of them stay silent.
        incomplete: declarations that lack a statement because it was faulty, by name (`Block`), or
            by keyword where they have none (`layout`, `train`), and the keyword (`model`) of those
            left out as a whole; what is missing there, or a missing one, stays silent.
    """

    source: Source
    declarations: tuple[Declaration, ...]
    poisoned: frozenset[str] = frozenset()
    incomplete: frozenset[str] = frozenset()
