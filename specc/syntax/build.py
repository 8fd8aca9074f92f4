"""Makes the typed tree of what Lark parsed, from the leaves up and without recursion."""

from __future__ import annotations

from typing import cast

from lark import Token, Tree

from specc.source import Source
from specc.syntax.build_decl import DECLARATIONS
from specc.syntax.build_expr import EXPRESSIONS
from specc.syntax.build_layout import LAYOUTS
from specc.syntax.made import Kids, Maker, Origin, Raw, present

_MAKERS = {**EXPRESSIONS, **DECLARATIONS, **LAYOUTS}


def build(raw: Tree[Token], source: Source, origin: Origin) -> tuple[object, Maker]:
    """The typed node of a parse, and the maker with what was found on the way.

    Args:
        raw: of a parser that keeps all tokens.
        origin: where in the source a place of the parsed text comes from.
    """
    maker = Maker(source, origin)
    order: list[Tree[Token]] = []
    waiting = [raw]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(kid for kid in node.children if isinstance(kid, Tree))
    made: dict[int, object] = {}
    extents: dict[int, tuple[int, int]] = {}
    for node in reversed(order):
        start, end = extents[id(node)] = _extent(node, extents)
        kids: Kids = [made.pop(id(kid)) if isinstance(kid, Tree) else kid for kid in node.children]
        make = _MAKERS.get(node.data)
        made[id(node)] = kids if make is None else make(maker, kids, maker.span(start, end))
    maker.close_lists()
    return made[id(raw)], maker


def _extent(node: Tree[Token], extents: dict[int, tuple[int, int]]) -> tuple[int, int]:
    kids = present(node)
    if not kids:
        return 0, 0
    return _start(kids[0], extents), _end(kids[-1], extents)


def _start(kid: Raw, extents: dict[int, tuple[int, int]]) -> int:
    return extents[id(kid)][0] if isinstance(kid, Tree) else cast("int", kid.start_pos)


def _end(kid: Raw, extents: dict[int, tuple[int, int]]) -> int:
    return extents[id(kid)][1] if isinstance(kid, Tree) else cast("int", kid.end_pos)
