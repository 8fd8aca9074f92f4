"""Typed nodes of layouts, their rules and selectors, and of the rules of `train`."""

from __future__ import annotations

from typing import Any

import attrs

from specc.source import Span
from specc.syntax import tree
from specc.syntax.made import Kids, Make, Maker, nodes, or_empty, word


def _layout(maker: Maker, kids: Kids, span: Span) -> tree.Layout:
    _, name, *rules = kids
    place = None if name is None else maker.place(name)
    return tree.Layout(word(name), nodes(rules), span, place)


def _axis_rule(_maker: Maker, kids: Kids, span: Span) -> tree.AxisRule:
    axes, _, action = kids
    return tree.AxisRule(axes, action, span)


def _names(maker: Maker, kids: Kids, _span: Span) -> tuple[tree.Name, ...]:
    return maker.names(kids)


# ------------------------------------------------------------------------ what a rule does


@attrs.frozen
class _Clause:
    word: str
    value: object
    span: Span


def _else(maker: Maker, kids: Kids, span: Span) -> _Clause:
    return _Clause("else", maker.name(kids[1]), span)


def _per(_maker: Maker, kids: Kids, span: Span) -> _Clause:
    return _Clause("per", nodes(kids), span)


def _via(_maker: Maker, kids: Kids, span: Span) -> _Clause:
    return _Clause("via", kids[1], span)


def _within(_maker: Maker, kids: Kids, span: Span) -> _Clause:
    return _Clause("within", kids[1], span)


def _shard(maker: Maker, kids: Kids, span: Span) -> tree.Shard:
    _, subjects, *clauses, settings = kids
    said: dict[str, _Clause] = {}
    for clause in clauses:
        first = said.setdefault(clause.word, clause)
        if clause is not first:
            maker.report.error(
                "E0127",
                clause.span,
                f"`{clause.word}` stands twice in one rule",
                "again here",
                also=((first.span, "first here"),),
            )
    value: dict[str, Any] = {word_: clause.value for word_, clause in said.items()}
    return tree.Shard(
        subjects,
        otherwise=value.get("else"),
        per=value.get("per", ()),
        via=value.get("via"),
        within=value.get("within"),
        attrs=or_empty(settings),
        span=span,
    )


def _stage(_maker: Maker, kids: Kids, span: Span) -> tree.Stage:
    _, selectors, via, settings = kids
    return tree.Stage(selectors, None if via is None else via.value, or_empty(settings), span)


def _replicate(_maker: Maker, _kids: Kids, span: Span) -> tree.Replicate:
    return tree.Replicate(span)


# ------------------------------------------------------------------------------ selections


def _items(_maker: Maker, kids: Kids, _span: Span) -> tuple[object, ...]:
    return nodes(kids)


def _selector(_maker: Maker, kids: Kids, span: Span) -> tree.Selector:
    each, target, _, within, _, without = kids
    return tree.Selector(each is not None, target, within, without, span)


def _verb_rule(maker: Maker, kids: Kids, span: Span) -> tree.VerbRule:
    verb, selectors, settings = kids
    return tree.VerbRule(
        str(verb), or_empty(selectors), or_empty(settings), span, maker.place(verb)
    )


def _train(_maker: Maker, kids: Kids, span: Span) -> tree.Train:
    _, body = kids
    return tree.Train(
        tuple(each for each in body if not isinstance(each, tree.VerbRule)),
        tuple(each for each in body if isinstance(each, tree.VerbRule)),
        span,
    )


LAYOUTS: dict[str, Make] = {
    "layout": _layout,
    "axis_rule": _axis_rule,
    "axis_ref": _names,
    "shard": _shard,
    "subjects": _names,
    "else": _else,
    "per": _per,
    "via": _via,
    "within": _within,
    "stage": _stage,
    "replicate": _replicate,
    "selectors": _items,
    "selector": _selector,
    "verb_rule": _verb_rule,
    "train": _train,
    "tbody": _items,
}
