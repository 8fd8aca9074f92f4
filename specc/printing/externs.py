"""How classes of one's own are made, and which modules draw their own weights."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from specc.check.texts import entry_text
from specc.plan.foreign import is_piece, local_formals
from specc.plan.tensor import SEGMENTS, lie
from specc.printing.context import group_name
from specc.printing.fit import fit
from specc.printing.paths import folded
from specc.program import model
from specc.syntax import tree

if TYPE_CHECKING:
    from specc.plan.facts import Module, TensorSplit
    from specc.printing.context import Context
    from specc.vocabulary.record import SettingValue


def are_pieces(context: Context) -> bool:
    """Whether externs are made with a rank's sizes."""
    facts = context.facts
    return any(
        local_formals(
            facts.program.externs[module.what.extern].declaration,
            module.what.dims,
            facts.layout.tensor,
        )
        for module in own_modules(facts.model)
        if isinstance(module.what, model.Foreign)
    )


def own_modules(root: Module) -> list[Module]:
    """The modules that draw their own weights."""
    return [module for module in root.walk() if isinstance(module.what, model.Foreign)]


def made_here(context: Context, module: Module, groups: dict[str, tuple[str, ...]]) -> str:
    """Text that makes an extern on one rank: with the rank's sizes if it works on pieces.

    Args:
        groups: the process groups that the class around it needs, which it adds to.
    """
    tensor = context.facts.layout.tensor
    made = _making(made_text(context, module, tensor))
    if tensor is None or not any(parameter.trained for parameter in module.parameters):
        return f"own_module({made})"
    segments = _segments(module, tensor)
    if not segments:
        return f"local_module({made})"
    group = group_name(tensor.axes)
    groups[group] = tensor.axes
    return f"local_module({made}, {{{', '.join(segments)}}}, {group})"


def _segments(module: Module, tensor: TensorSplit) -> list[str]:
    """`"inside.weight": (0, (STATE, STATE))` for each parameter with segments that are split."""
    return [
        f'"{parameter.name.removeprefix(f"{module.path}.")}": '
        f"({dim}, ({', '.join(entry_text((segment,)) for segment in entry)}))"
        for parameter in module.parameters
        for dim, entry in enumerate(parameter.shape)
        if lie(entry, tensor) == SEGMENTS
    ]


def _making(made: str) -> str:
    """Text of a function without arguments that makes what a text makes."""
    return made.removesuffix("()") if made.endswith("()") else f"lambda: {made}"


def made_text(context: Context, module: Module, tensor: TensorSplit | None = None) -> str:
    """Text that makes an extern; its arguments are in `settings` by position or name.

    Args:
        tensor: where a rank's pieces are wanted; None for the whole.
    """
    what = module.what
    assert isinstance(what, model.Foreign)
    program = context.facts.program
    extern = program.externs[what.extern]
    pieces = local_formals(extern.declaration, what.dims, tensor)
    whole = {name: _grouped(entry_text(entry)) for name, entry in what.dims.items()}
    local = {name: _grouped(context.local(what.dims[name])) for name in pieces}

    def text(expr: tree.Expr, value: SettingValue) -> str:
        if isinstance(expr, tree.ListOf) and isinstance(value, tuple):
            items = [text(item, inner) for item, inner in zip(expr.items, value, strict=True)]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        is_local = is_piece(expr, pieces, program.lets)
        return context.argument(expr, value, {**whole, **local} if is_local else whole)

    words: list[str] = []
    for position, argument in enumerate(extern.declaration.init or ()):
        made = text(argument.value, module.settings[argument.name or str(position)])
        words.append(f"{argument.name}={made}" if argument.name else made)
    return f"{context.externs[what.extern]}({', '.join(words)})"


def _grouped(text: str) -> str:
    """A sum in parentheses, so that it can stand in a product."""
    return f"({text})" if "+" in text else text


def own_lines(context: Context, counts: dict[str, int]) -> list[str]:
    """`OWN`: what makes each module that draws its own weights, one row for those made alike."""
    made = {m.path: _making(made_text(context, m)) for m in own_modules(context.facts.model)}
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
