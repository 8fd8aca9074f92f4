"""Device names stand in specc/targets alone, so that a new device is one new file."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.repository import FILES, SPECC, docstring_of, imported_modules, parse, read

if TYPE_CHECKING:
    from collections.abc import Iterator

DEVICES = "musa|cuda|mccl|nccl|gloo"
DEVICE_NAME = re.compile(
    rf"(?:(?<![A-Za-z])(?:{DEVICES})|{DEVICES.title()}|{DEVICES.upper()})(?![a-z])"
)

# An exception is one line with its reason.
NAMED_ELSEWHERE = {
    "specc/resolve/reserved.py": "nn.Module has methods of these names, which no part may take",
}


def words(node: ast.AST) -> tuple[str, ...]:
    """Identifiers and text that a node brings in itself, without its children."""
    match node:
        case (
            ast.Constant(value=str(text))
            | ast.Name(id=text)
            | ast.Attribute(attr=text)
            | ast.arg(arg=text)
            | ast.keyword(arg=str(text))
            | ast.FunctionDef(name=text)
            | ast.ClassDef(name=text)
            | ast.alias(asname=str(text))
        ):
            return (text,)
        case ast.ImportFrom(names=names):
            return (*imported_modules(node), *(alias.name for alias in names))
        case _:
            return imported_modules(node)


def device_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each device name in code; docstrings may show examples."""
    docstrings = {found.value for node in ast.walk(tree) if (found := docstring_of(node))}
    for node in ast.walk(tree):
        for word in () if node in docstrings else words(node):
            if DEVICE_NAME.search(word):
                yield getattr(node, "lineno", 0), word


@pytest.mark.parametrize(
    "code",
    [
        'start("musa")',
        "import torch_musa",
        "from torch.backends import cuda",
        "import torch.backends.mps as cuda_like",
        "torch.cuda.synchronize()",
        "def is_cuda(): ...",
        "class MusaTarget: ...",
        "f(nccl=1)",
        'f"{device} over gloo"',
        "def f(mccl_timeout): ...",
    ],
)
def test_a_device_name_in_code_is_found(code: str) -> None:
    assert len(list(device_names(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code", ['"""On musa."""', "# cuda", 'f("gloomy")', "backend = target.backend"]
)
def test_docstrings_comments_and_other_words_are_no_device_names(code: str) -> None:
    assert list(device_names(ast.parse(code))) == []


def test_device_names_stand_in_targets_alone() -> None:
    elsewhere = [name for name in SPECC if not name.startswith("specc/targets/")]
    found = [(name, *where) for name in elsewhere for where in device_names(parse(name))]

    assert [where for where in found if where[0] not in NAMED_ELSEWHERE] == []


def test_templates_name_no_device() -> None:
    templates = [name for name in FILES if name.startswith("templates/")]

    assert [name for name in templates if DEVICE_NAME.search(read(name))] == []
