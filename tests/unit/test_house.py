"""The rules of the house that no linter knows: sizes, own imports, settings, paths."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.repository import FILES, PYTHON, SPECC, docstring_of, imported_modules, parse, read

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 500

# An exception is one line with its reason: "path:function" or "path".
LONG_FUNCTIONS: dict[str, str] = {}
LONG_FILES: dict[str, str] = {
    "specc/syntax/tree.py": "a flat list of small classes, one for each form of the grammar",
}

# The one door: torch is imported when a training starts, not when the command line does.
LATE_IMPORTERS = ("specc/cli/", "specc/api.py")
LATE_IMPORTED = "specc.runtime"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def lines_of(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def lines_without_docstring(function: Function) -> int:
    docstring = docstring_of(function)
    return lines_of(function) - (lines_of(docstring) if docstring else 0)


def long_functions(name: str) -> Iterator[str]:
    for function in functions(parse(name)):
        size = lines_without_docstring(function)
        if size > MAX_FUNCTION_LINES and f"{name}:{function.name}" not in LONG_FUNCTIONS:
            yield f"{name}:{function.lineno} {function.name}: {size} lines"


def test_a_docstring_does_not_count_as_length() -> None:
    (function,) = functions(ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n'))

    assert lines_without_docstring(function) == 2


def test_functions_are_short() -> None:
    assert [found for name in PYTHON for found in long_functions(name)] == []


def test_files_are_short() -> None:
    written = [name for name in PYTHON if not name.startswith("tests/cases/")]
    sizes = {name: len(read(name).splitlines()) for name in written}
    too_long = {name: size for name, size in sizes.items() if size > MAX_FILE_LINES}

    assert too_long.keys() - LONG_FILES.keys() == set(), too_long


def test_exceptions_are_still_needed() -> None:
    names = {f"{name}:{function.name}" for name in PYTHON for function in functions(parse(name))}

    assert LONG_FUNCTIONS.keys() <= names
    assert all(len(read(name).splitlines()) > MAX_FILE_LINES for name in LONG_FILES)


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name in PYTHON if not docstring_of(parse(name))] == []


def own_late_imports(tree: ast.Module) -> Iterator[str]:
    """Modules of ours that are imported inside a function."""
    for function in functions(tree):
        for node in ast.walk(function):
            yield from (name for name in imported_modules(node) if name.split(".")[0] == "specc")


def is_the_door(name: str, module: str) -> bool:
    return name.startswith(LATE_IMPORTERS) and module.startswith(LATE_IMPORTED)


def test_own_modules_are_imported_at_the_top() -> None:
    late = [(name, module) for name in SPECC for module in own_late_imports(parse(name))]

    assert [found for found in late if not is_the_door(*found)] == []


def test_an_own_import_in_a_function_is_found() -> None:
    code = "import specc.plan\ndef f():\n    import math\n    from specc.check import names\n"

    assert list(own_late_imports(ast.parse(code))) == ["specc.check"]


def test_every_folder_has_its_place_in_pyright_and_import_linter() -> None:
    settings = read("pyproject.toml")
    layers = settings.split("layers = [")[1].split("]")[0]
    folders = {name.split("/")[1] for name in SPECC if name.count("/") > 1}
    not_strict = {folder for folder in folders if f'"specc/{folder}"' not in settings}
    not_placed = {folder for folder in folders if not re.search(rf"\b{folder}\b", layers)}

    assert not_strict <= {"parts", "runtime"}
    assert not_placed <= {"parts"}


MACHINE = re.compile(
    r"(?<![\w.])/(?:work|tmp|root|home)/"  # folders of one machine
    r"|\bpypi\.org|pythonhosted|npmjs\.|deb\.debian|download\.pytorch|proxy\.golang"
)


def machine_lines(name: str) -> Iterator[str]:
    try:
        text = read(name)
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if MACHINE.search(line):
            yield f"{name}:{number} {line.strip()[:80]}"


def test_no_file_names_a_path_of_a_machine_or_a_registry() -> None:
    others = [name for name in FILES if name != "tests/unit/test_house.py"]

    assert [found for name in others for found in machine_lines(name)] == []


@pytest.mark.parametrize("folder", ["work", "tmp", "root", "home"])
def test_a_machine_path_is_found(folder: str) -> None:
    assert MACHINE.search(f"open('/{folder}/x')")


@pytest.mark.parametrize("text", ["docs/work/x", "home/", "$HOME/x", "tests/tmp/", "./tmp/a"])
def test_a_relative_path_is_no_machine_path(text: str) -> None:
    assert not MACHINE.search(text)
