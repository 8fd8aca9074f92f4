"""The one text of a training: header, constants, and its sections in reading order."""

from __future__ import annotations

import ast

import attrs

from specc.plan.facts import Facts
from specc.plan.hashes import hashes
from specc.printing.batches import batch_lines
from specc.printing.classes import Classes, ClassText
from specc.printing.constants import Constant, constant_lines, constants
from specc.printing.context import Context
from specc.printing.header import header_lines
from specc.printing.loop import averaged_lines, held_out_lines, main_lines, train_lines
from specc.printing.sharding import build_lines, group_lines, init_lines, shard_lines
from specc.printing.tail import find_tail


@attrs.frozen
class Section:
    """A titled stretch of the text; the parts that it is the first to use go to its head."""

    title: str
    code: str


@attrs.frozen
class Text:
    """What is printed once and then executed or emitted.

    Args:
        name: of the spec.
        header: docstring with launch lines.
        plugin: import line of the device's plugin, empty where there is none.
        constants: lines of constants that the sections use.
        sections: model, sharding and weights, data, training.
        imports: import lines of externs.
    """

    name: str
    header: str
    plugin: str
    constants: str
    sections: tuple[Section, ...]
    imports: tuple[str, ...]


def print_text(facts: Facts) -> Text:
    """The text of a training from the facts of its Plan."""
    context = Context(facts)
    tail = find_tail(facts)
    classes = Classes(context, tail)
    sections = (
        Section("model", _joined([text.lines for text in _in_order(classes)])),
        Section(
            "sharding and weights",
            _joined(
                [
                    shard_lines(context),
                    init_lines(context),
                    group_lines(context),
                    build_lines(context, classes.root),
                ]
            ),
        ),
        Section("data", _joined([batch_lines(context)])),
        Section(
            "training",
            _joined(
                [
                    averaged_lines(context),
                    train_lines(context, tail),
                    held_out_lines(context, tail),
                    main_lines(context),
                ]
            ),
        ),
    )
    plugin = ""
    if facts.target.plugin is not None:
        plugin = f"import {facts.target.plugin.module}  # noqa: F401  {facts.target.plugin.comment}"
    found = constants(context)
    lines = constant_lines(found, _used(found, sections))
    return Text(
        facts.program.name,
        "\n".join(header_lines(context, hashes(facts).run)),
        plugin,
        "\n".join(lines),
        sections,
        _extern_imports(context),
    )


def _in_order(classes: Classes) -> list[ClassText]:
    seen: list[ClassText] = []
    for text in classes.printed.values():
        if not any(text is other for other in seen):
            seen.append(text)
    return seen


def _joined(pieces: list[list[str]]) -> str:
    return "\n\n\n".join("\n".join(lines) for lines in pieces if lines)


def _used(found: list[Constant], sections: tuple[Section, ...]) -> set[str]:
    """Constants that the sections name."""
    text = "\n".join(section.code for section in sections)
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names & {constant.name for constant in found}


def _extern_imports(context: Context) -> tuple[str, ...]:
    """One line for each module, and one for each extern that goes by another name."""
    externs = context.facts.program.externs
    plain: dict[str, list[str]] = {}
    renamed: list[str] = []
    for name, called in context.externs.items():
        module, own = externs[name].module, externs[name].attribute
        if called == own:
            plain.setdefault(module, []).append(own)
        else:
            renamed.append(f"from {module} import {own} as {called}")
    lines = [f"from {module} import {', '.join(_ordered(own))}" for module, own in plain.items()]
    return tuple(sorted([*lines, *renamed]))


def _ordered(names: list[str]) -> list[str]:
    """Classes before functions, as import sorters order them."""
    return sorted(set(names), key=lambda name: (not name[0].isupper(), name))
