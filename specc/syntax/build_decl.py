"""Typed nodes of declarations: dims, blocks, externs, clusters, meshes, settings."""

from __future__ import annotations

import attrs

from specc.source import Span
from specc.syntax import tree
from specc.syntax.brief import brief
from specc.syntax.build_expr import arguments, number, text
from specc.syntax.counts import check_count
from specc.syntax.made import Kids, Make, Maker, nodes, or_empty, tokens, word


def _edition(maker: Maker, kids: Kids, span: Span) -> tree.Edition:
    return tree.Edition(number(maker, kids[1]), span)


def _use(maker: Maker, kids: Kids, span: Span) -> tree.Use:
    _, path, _, *items = kids
    return tree.Use(text(maker, path), nodes(items), span)


def _use_item(_maker: Maker, kids: Kids, span: Span) -> tree.UseItem:
    name, _, alias = kids
    return tree.UseItem(str(name), word(alias), span)


def _dims(_maker: Maker, kids: Kids, _span: Span) -> tuple[tree.DimDecl, ...]:
    return nodes(kids)


def _dim(maker: Maker, kids: Kids, span: Span) -> tree.DimDecl:
    name, _, size = kids
    check_count(size, maker.report)
    return tree.DimDecl(str(name), size, span, maker.place(name))


def _let(maker: Maker, kids: Kids, span: Span) -> tree.Let:
    _, name, _, value = kids
    return tree.Let(str(name), value, span, maker.place(name))


def _check(maker: Maker, kids: Kids, span: Span) -> tree.Check:
    _, condition, _, reason = kids
    return tree.Check(condition, None if reason is None else text(maker, reason).value, span)


# ------------------------------------------------------------------------ blocks and externs


def _static(_maker: Maker, kids: Kids, span: Span) -> tree.Static:
    name, _, kind, _, default = kids
    return tree.Static(str(name), word(kind), default, span)


def _param(_maker: Maker, kids: Kids, span: Span) -> tree.Param:
    name, _, type_ = kids
    return tree.Param(str(name), type_, span)


def _result(_maker: Maker, kids: Kids, span: Span) -> tree.Result:
    names = tokens(kids)
    return tree.Result(str(names[0]) if names else None, kids[-1], span)


def _items(_maker: Maker, kids: Kids, _span: Span) -> tuple[object, ...]:
    return nodes(kids)


def _block(maker: Maker, kids: Kids, span: Span) -> tree.Block:
    word_, name, statics, params, _, results, body = kids
    return tree.Block(
        str(name),
        or_empty(statics),
        params,
        results,
        body,
        is_model=word_.type == "_MODEL",
        span=span,
        name_span=maker.place(name),
    )


@attrs.frozen
class _Init:
    arguments: tuple[tree.Argument, ...]
    span: Span


@attrs.frozen
class _Dims:
    word: str
    names: tuple[tree.Name, ...]


def _extern(maker: Maker, kids: Kids, span: Span) -> tree.Extern:
    _, path, _, name, statics, params, _, results, body = kids
    inits = [each for each in body if isinstance(each, _Init)]
    for again in inits[1:]:
        also = ((inits[0].span, "first here"),)
        title = "`init` stands twice in one extern block"
        maker.report.error("E0127", again.span, title, "again here", also=also)
    dims = [each for each in body if isinstance(each, _Dims)]
    return tree.Extern(
        text(maker, path),
        str(name),
        or_empty(statics),
        params,
        results,
        init=inits[0].arguments if inits else None,
        weights=tuple(each for each in body if isinstance(each, tree.ExternParam)),
        split=tuple(dim for each in dims if each.word == "split" for dim in each.names),
        sum=tuple(dim for each in dims if each.word == "sum" for dim in each.names),
        settings=tuple(each for each in body if isinstance(each, tree.Setting)),
        span=span,
        name_span=maker.place(name),
    )


def _extern_init(_maker: Maker, kids: Kids, span: Span) -> _Init:
    return _Init(arguments(nodes(kids)), span)


def _extern_param(_maker: Maker, kids: Kids, span: Span) -> tree.ExternParam:
    word, path, _, type_ = kids
    return tree.ExternParam(".".join(path.names), type_, str(word) == "param", span)


def _extern_dims(maker: Maker, kids: Kids, _span: Span) -> _Dims:
    return _Dims(str(kids[0]), maker.names(kids))


# ------------------------------------------------------------------------------- statements


def _bind(maker: Maker, kids: Kids, span: Span) -> tree.Bind | tree.Assign:
    name, _, what, _, value = kids
    if value is None:
        return tree.Bind(str(name), what, None, span, maker.place(name))
    type_ = _type_of_value(maker, what)
    if type_ is None:
        return tree.Assign((str(name),), value, span, (maker.place(name),))
    return tree.Bind(str(name), type_, value, span, maker.place(name))


def _type_of_value(maker: Maker, what: tree.Expr) -> tree.Type | None:
    """`bf16[B, S]` or `[B, S]`, read as an expression because a part may stand in its place.

    None where it is no type, which is then reported.
    """
    match what:
        case tree.ListOf(items, span):
            maker.open_lists.pop(span.start, None)
            return tree.Type(None, tree.Shape(items, span), span)
        case tree.Item(tree.Name(name), indices, span):
            entries = [_shape_entry(maker, index) for index in indices]
            if None in entries:
                return None
            # The brackets are what follows the name.
            brackets = Span(span.source, what.base.span.end, span.end)
            shape = tree.Shape(tuple(entry for entry in entries if entry), brackets)
            return tree.Type(name, shape, span)
        case _:
            maker.report.error(
                "E0124",
                what.span,
                f"a value is annotated with its shape, not with `{brief(what.span.text)}`",
                "expected `[..]`, with a dtype before it or none",
                helps=("a part takes no `=`: write the part, and the value on a line of its own",),
            )
            return None


def _shape_entry(maker: Maker, index: tree.Index) -> tree.Expr | tree.Others | None:
    match index:
        case tree.Range(None, None, span):
            return tree.Others(span)
        case tree.Range(_, _, span) | tree.Every(span):
            maker.report.error(
                "E0123",
                span,
                f"`{brief(span.text)}` picks elements, and this is a shape",
                "expected a dim",
            )
            return None
        case _:
            return index


def _assign(maker: Maker, kids: Kids, span: Span) -> tree.Assign:
    *names, value = kids
    bound = maker.names(names)
    return tree.Assign(
        tuple(name.name for name in bound), value, span, tuple(name.span for name in bound)
    )


def _return(_maker: Maker, kids: Kids, span: Span) -> tree.Return:
    return tree.Return(nodes(kids), span)


def _tie(_maker: Maker, kids: Kids, span: Span) -> tree.Tie:
    _, left, _, right = kids
    return tree.Tie(left, right, span)


# ---------------------------------------------------------------------------------- settings


@attrs.frozen
class _Path:
    names: tuple[str, ...]
    span: Span


def _path(_maker: Maker, kids: Kids, span: Span) -> _Path:
    return _Path(tuple(str(name) for name in tokens(kids) if name.type == "NAME"), span)


def _setting(_maker: Maker, kids: Kids, span: Span) -> tree.Setting:
    *paths, _, type_, _, value = kids
    paths = [path for path in paths if isinstance(path, _Path)]
    return tree.Setting(
        tuple(path.names for path in paths), type_, value, span, tuple(path.span for path in paths)
    )


def _nested(_maker: Maker, kids: Kids, span: Span) -> tree.Nested:
    path, inner = kids
    return tree.Nested(path.names, inner, span, path.span)


def _cluster(maker: Maker, kids: Kids, span: Span) -> tree.Cluster:
    _, name, settings = kids
    return tree.Cluster(str(name), settings, span, maker.place(name))


def _mesh(maker: Maker, kids: Kids, span: Span) -> tree.Mesh:
    _, _, cluster, axes = kids
    return tree.Mesh(None if cluster is None else maker.name(cluster), axes, span)


def _axis(maker: Maker, kids: Kids, span: Span) -> tree.Axis:
    name, _, size, axes = kids
    check_count(size, maker.report)
    return tree.Axis(str(name), size, or_empty(axes), span, maker.place(name))


def _launch(_maker: Maker, kids: Kids, span: Span) -> tree.Launch:
    _, name, settings = kids
    return tree.Launch(word(name), settings, span)


def _target(maker: Maker, kids: Kids, span: Span) -> tree.Target:
    _, name, settings = kids
    return tree.Target(str(name), settings, span, maker.place(name))


def _profile(maker: Maker, kids: Kids, span: Span) -> tree.Profile:
    _, name, settings = kids
    return tree.Profile(str(name), settings, span, maker.place(name))


DECLARATIONS: dict[str, Make] = {
    "start": _items,
    "chunk": _items,
    "edition": _edition,
    "use": _use,
    "use_item": _use_item,
    "dims": _dims,
    "dim": _dim,
    "let": _let,
    "check": _check,
    "block": _block,
    "model": _block,
    "extern": _extern,
    "statics": _items,
    "static": _static,
    "params": _items,
    "param": _param,
    "results": _items,
    "result": _result,
    "body": _items,
    "bind": _bind,
    "assign": _assign,
    "return": _return,
    "tie": _tie,
    "ebody": _items,
    "einit": _extern_init,
    "eparam": _extern_param,
    "esplit": _extern_dims,
    "esum": _extern_dims,
    "cluster": _cluster,
    "mesh": _mesh,
    "axes": _items,
    "axis": _axis,
    "launch": _launch,
    "target": _target,
    "profile": _profile,
    "attrs": _items,
    "setting": _setting,
    "nested": _nested,
    "path": _path,
}
