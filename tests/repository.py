"""The repository's files as tests read them: paths, texts, syntax trees."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked_files() -> tuple[str, ...]:
    """Paths of the repository's files, relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return tuple(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


FILES = tracked_files()
PYTHON = tuple(name for name in FILES if name.endswith(".py"))
SPECC = tuple(name for name in PYTHON if name.startswith("specc/"))


def read(name: str) -> str:
    """Text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def parse(name: str) -> ast.Module:
    """Syntax tree of a Python file of the repository."""
    return ast.parse(read(name), filename=name)


def docstring_of(node: ast.AST) -> ast.Expr | None:
    """The statement that is the docstring of a module, class or function, if it has one."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return None
    return first if isinstance(first.value.value, str) else None


def imported_modules(node: ast.AST) -> tuple[str, ...]:
    """Modules that an import statement names; none for any other node."""
    match node:
        case ast.Import(names=names):
            return tuple(alias.name for alias in names)
        case ast.ImportFrom(module=module):
            return (module or "",)
        case _:
            return ()
