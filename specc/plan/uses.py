"""How ranks of a tensor split use the parameters that are whole on each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.program import model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.plan.facts import Module
    from specc.plan.placing import Path, Placed


def gradient_uses(root: Module, placed: Mapping[str, Placed]) -> dict[str, frozenset[bool]]:
    """For every parameter that is used by name, whether ranks use it on a piece each.

    A tied parameter counts under the name of the one that it follows.
    """
    found: dict[str, set[bool]] = {}

    def visit(module: Module, uses: Mapping[Path, frozenset[bool]], at: Path) -> None:
        if module.block is not None:
            uses, at = placed[module.block.key].uses, ()
        for parameter in module.parameters:
            own = parameter.tied_to or parameter.name
            found.setdefault(own, set()).update(uses.get(at, ()))
        is_list = isinstance(module.what, model.PartList)
        for child in module.children:
            visit(child, uses, (*at, "*" if is_list else child.name))

    visit(root, {}, ())
    return {name: frozenset(kinds) for name, kinds in found.items()}
