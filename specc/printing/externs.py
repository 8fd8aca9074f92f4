"""How classes of one's own are made, and which modules draw their own weights."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from specc.check.texts import entry_text
from specc.printing.fit import fit
from specc.printing.paths import folded
from specc.program import model

if TYPE_CHECKING:
    from specc.plan.facts import Module
    from specc.printing.context import Context


def own_modules(root: Module) -> list[Module]:
    """The modules that draw their own weights."""
    return [module for module in root.walk() if isinstance(module.what, model.Foreign)]


def made_text(context: Context, module: Module) -> str:
    """Text that makes an extern; its arguments are in `settings` by position or name."""
    what = module.what
    assert isinstance(what, model.Foreign)
    extern = context.facts.program.externs[what.extern]
    sizes = {name: _grouped(entry_text(entry)) for name, entry in what.dims.items()}
    words: list[str] = []
    for position, argument in enumerate(extern.declaration.init or ()):
        value = module.settings[argument.name or str(position)]
        text = context.argument(argument.value, value, sizes)
        words.append(f"{argument.name}={text}" if argument.name else text)
    return f"{context.externs[what.extern]}({', '.join(words)})"


def _grouped(text: str) -> str:
    """A sum in parentheses, so that it can stand in a product."""
    return f"({text})" if "+" in text else text


def own_lines(context: Context, counts: dict[str, int]) -> list[str]:
    """`OWN`: what makes each module that draws its own weights, one row for those made alike."""
    made = {m.path: f"lambda: {made_text(context, m)}" for m in own_modules(context.facts.model)}
    if not made:
        return []
    lines = [
        "# What makes each module that draws its own weights; by seed and name.",
        "OWN = {",
    ]
    for form, members in folded(list(made), counts).items():
        common, _ = Counter(made[path] for path in members).most_common(1)[0]
        rows = {form: common, **{p: made[p] for p in members if made[p] != common}}
        lines += [line for name, text in rows.items() for line in fit(f'"{name}": {text},', 4)]
    return [*lines, "}"]
