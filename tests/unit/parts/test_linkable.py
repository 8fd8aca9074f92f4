"""The source of parts is copied into scripts, so a part is made of pieces that can be moved."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.repository import SPECC, docstring_of, imported_modules, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PARTS = tuple(
    name for name in SPECC if name.startswith("specc/parts/") and not name.endswith("__init__.py")
)
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


def defined_names(node: ast.stmt) -> tuple[str, ...]:
    """Names that a top-level statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(ast.unparse(target) for target in targets)
        case ast.AnnAssign(target=target):
            return (ast.unparse(target),)
        case _:
            return ()


def is_movable(node: ast.stmt) -> bool:
    """Whether a top-level statement is an import, a def, a class or an UPPER constant."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef():
            return True
        case ast.Assign() | ast.AnnAssign(value=ast.expr()):
            return all(CONSTANT.fullmatch(name) for name in defined_names(node))
        case _:
            return False


def import_fault(module: str, node: ast.AST) -> str:
    """Why an import cannot be carried into a script; empty if it can."""
    package = module.partition(".")[0]
    if package == "__future__":
        return "would hold for the whole script"
    if package != "specc":
        is_there = package == "torch" or package in sys.stdlib_module_names
        return "" if is_there else "neither torch nor the standard library"
    if not isinstance(node, ast.ImportFrom) or not module.startswith("specc.parts."):
        return "write `from specc.parts.x import name`"
    is_renamed = any(alias.asname for alias in node.names)
    return "a renamed import loses its name when it is copied" if is_renamed else ""


def faults(tree: ast.Module) -> Iterator[str]:
    """What keeps a part from being copied into a script."""
    docstring = docstring_of(tree)
    for node in tree.body:
        if node is not docstring and not is_movable(node):
            yield f"{node.lineno}: neither an import, a def, a class nor an UPPER constant"
    for node in ast.walk(tree):
        for module in imported_modules(node):
            if fault := import_fault(module, node):
                yield f"{module}: {fault}"


def imported_names(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Each name that an import from outside binds, and what it stands for."""
    match node:
        case ast.Import(names=names):
            for alias in names:
                package = alias.name.split(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (package, package)
        case ast.ImportFrom(module=str(module), names=names) if not module.startswith("specc."):
            for alias in names:
                yield alias.asname or alias.name, f"{module}.{alias.name}"
        case _:
            pass


def clashes(parts: Iterable[tuple[str, ast.Module]]) -> Iterator[str]:
    """Names that stand for two things, so that two parts could not meet in one script."""
    meanings: dict[str, str] = {}
    for part, tree in parts:
        for node in tree.body:
            defined = ((name, f"{part}:{node.lineno}") for name in defined_names(node))
            for name, meaning in (*defined, *imported_names(node)):
                first = meanings.setdefault(name, meaning)
                if first != meaning:
                    yield f"`{name}` is {first} and {meaning}"


@pytest.mark.parametrize(
    "code",
    [
        "import attrs",
        "from specc.program import Program",
        "import specc.parts.norm",
        "from specc.parts.norm import rms as r",
        "from specc.parts import norm",
        "from __future__ import annotations",
        "def f():\n    import numpy",
        "limit = 3",
        "if True:\n    A = 1",
        "start()",
        "LIMIT: int",
    ],
)
def test_what_cannot_be_copied_is_found(code: str) -> None:
    assert len(list(faults(ast.parse(code)))) == 1


def test_what_can_be_copied_is_left_alone() -> None:
    code = (
        '"""A part."""\nimport math\nimport torch.nn.functional as F\nfrom torch import nn\n'
        "from specc.parts.norm import rms\nEPS: float = 1e-6\n_TABLE = {}\n"
        "def f():\n    x = 1\nclass C(nn.Module):\n    y = 2\n"
    )

    assert list(faults(ast.parse(code))) == []


def test_names_that_stand_for_two_things_are_found() -> None:
    a = ast.parse("import torch.distributed as dist\nfrom math import log\ndef step(): ...\n")
    b = ast.parse("def dist(): ...\nfrom torch import log\ndef step(): ...\n")

    assert len(list(clashes([("a", a), ("b", b)]))) == 3


def test_an_import_may_stand_in_every_part() -> None:
    code = "import math\nimport torch\nimport torch.distributed as dist\nimport torch.nn\n"

    assert list(clashes([("a", ast.parse(code)), ("b", ast.parse(code))])) == []


@pytest.mark.parametrize("name", PARTS)
def test_a_part_can_be_copied_into_a_script(name: str) -> None:
    assert list(faults(parse(name))) == []


def test_a_name_stands_for_one_thing_in_all_parts() -> None:
    assert list(clashes((name, parse(name)) for name in PARTS)) == []
