"""Links a text with the parts that it calls: copied into a script, or imported for a run."""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

import attrs

from specc import __version__
from specc.printing.names import IMPORTS, defined_names, part_index
from specc.resources import part_source

if TYPE_CHECKING:
    from specc.printing.text import Text

RULE = "# " + "-" * 87 + " "


@attrs.frozen
class Definition:
    """One top-level definition of a part.

    Args:
        source: with the comments above it, as written.
        uses: names of definitions of parts that it reads.
        module, line: where it stands, for the order within a script.
    """

    name: str
    source: str
    uses: frozenset[str]
    module: str
    line: int


def script(text: Text) -> str:
    """The standalone script: needs only the standard library, torch and the device's plugin."""
    placed: dict[str, Definition] = {}
    blocks: list[str] = []
    for section in text.sections:
        fresh = [d for d in _closure(free_names(section.code)) if d.name not in placed]
        placed.update({d.name: d for d in fresh})
        order = sorted(fresh, key=lambda d: (d.module, d.line))
        heading = f"# {'-' * (96 - len(section.title))} {section.title}"
        blocks.append("\n\n\n".join([heading, *_spaced(order), section.code]))
    imports = _import_lines(text, "\n\n".join(blocks), {d.module for d in placed.values()})
    body = [f'"""{text.header}\n"""', imports, text.constants, *blocks]
    return _assembled(body) + "\n"


def run_text(text: Text) -> str:
    """The same text with the parts imported, for specc to execute."""
    blocks: list[str] = []
    wanted: dict[str, set[str]] = {}
    for section in text.sections:
        for name in free_names(section.code) & set(part_index()):
            wanted.setdefault(part_index()[name], set()).add(name)
        blocks.append(section.code)
    parts = [
        f"from specc.parts.{m} import {', '.join(sorted(n))}" for m, n in sorted(wanted.items())
    ]
    code = "\n\n\n".join(blocks)
    imports = _import_lines(text, code, set())
    header = f"{text.header}\n\nExecuted by specc {__version__}, parts {parts_digest()}."
    body = [f'"""{header}\n"""', imports, "\n".join(parts), text.constants, code]
    return _assembled(body) + "\n"


def _assembled(pieces: list[str]) -> str:
    ending = 'if __name__ == "__main__":\n    main()'
    first, *rest = [piece for piece in pieces if piece]
    text = first
    for piece in rest:
        starts_block = piece.startswith(("# ---", "class ", "def ", "@"))
        text += ("\n\n\n" if starts_block else "\n\n") + piece
    return f"{text}\n\n\n{ending}"


def _spaced(order: list[Definition]) -> list[str]:
    """Sources of definitions; constants that stand together stay together."""
    pieces: list[str] = []
    last: Definition | None = None
    for definition in order:
        plain = (
            not definition.source.lstrip("#").startswith(("def ", "class ", "@"))
            and "\ndef " not in definition.source
        )
        if (
            pieces
            and plain
            and last is not None
            and last.module == definition.module
            and _is_plain(last)
        ):
            pieces[-1] += f"\n{definition.source}"
        else:
            pieces.append(definition.source)
        last = definition
    return pieces


def _is_plain(definition: Definition) -> bool:
    return isinstance(ast.parse(definition.source).body[0], (ast.Assign, ast.AnnAssign))


# ------------------------------------------------------------------------------------- names


def free_names(code: str) -> frozenset[str]:
    """Names that a piece of code reads and does not define at its top level."""
    tree = ast.parse(code)
    own = {name for node in tree.body for name in defined_names(node)}
    read = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return frozenset(read - own)


def _closure(names: frozenset[str]) -> list[Definition]:
    index = part_index()
    found: dict[str, Definition] = {}
    queue = sorted(names & set(index))
    while queue:
        name = queue.pop(0)
        if name not in found:
            found[name] = definitions(index[name])[name]
            queue.extend(sorted(found[name].uses & set(index)))
    return list(found.values())


@cache
def definitions(module: str) -> dict[str, Definition]:
    """Every top-level definition of a part."""
    source = part_source(module)
    lines = source.splitlines()
    found: dict[str, Definition] = {}
    body = ast.parse(source).body
    known = {name for node in body for name in (*defined_names(node), *_imported(node))}
    for node in body:
        for name in defined_names(node):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
            while first and lines[first - 1].startswith("#"):
                first -= 1
            text = "\n".join(_plain(line) for line in lines[first : node.end_lineno])
            read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            uses = frozenset(read & known - {name})
            found[name] = Definition(name, text, uses, module, node.lineno)
    return found


def _imported(node: ast.stmt) -> list[str]:
    """Names that a statement takes from other parts."""
    if not isinstance(node, ast.ImportFrom) or not f"{node.module}".startswith("specc.parts."):
        return []
    return [alias.name for alias in node.names]


def _plain(line: str) -> str:
    """A line without what it says to our own linter."""
    return re.sub(
        r"  # noqa: [A-Z0-9, ]+?(?=  |$)( *)(.*)", lambda m: f"  # {m[2]}" if m[2] else "", line
    )


# ------------------------------------------------------------------------------------ imports


def _import_lines(text: Text, code: str, modules: set[str]) -> str:
    """Imports of everything that the code and the constants name, standard library first."""
    named = {
        n.id for n in ast.walk(ast.parse(f"{text.constants}\n{code}")) if isinstance(n, ast.Name)
    }
    lines = {IMPORTS[name] for name in named & set(IMPORTS)}
    for module in modules:
        lines |= _part_imports(module, named)
    return "\n\n".join(
        group
        for group in ("\n".join(_sorted(_merged(lines), standard=True)), _torch_group(lines, text))
        if group
    )


def _torch_group(lines: set[str], text: Text) -> str:
    merged = _sorted(_merged(lines), standard=False)
    if text.plugin:
        plain = [line for line in merged if line.startswith("import ")]
        rest = [line for line in merged if line.startswith("from ")]
        merged = [*plain, text.plugin, *rest]
    plain = [line for line in merged if not line.startswith("from ")]
    rest = sorted(
        (line for line in [*merged, *text.imports] if line.startswith("from ")),
        key=lambda line: line.split()[1],
    )
    return "\n".join([*plain, *rest])


def _part_imports(module: str, named: set[str]) -> set[str]:
    lines: set[str] = set()
    for node in ast.parse(part_source(module)).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name.split(".")[0]) in named:
                    lines.add(ast.unparse(ast.Import([alias])))
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("specc"):
            for alias in node.names:
                if (alias.asname or alias.name) in named:
                    lines.add(ast.unparse(ast.ImportFrom(node.module, [alias], 0)))
    return lines


def _merged(lines: set[str]) -> list[str]:
    """One line for each module that names are imported from."""
    froms: dict[str, set[str]] = {}
    plain: list[str] = []
    for line in lines:
        if line.startswith("from "):
            module, _, names = line.removeprefix("from ").partition(" import ")
            froms.setdefault(module, set()).update(n.strip() for n in names.split(","))
        else:
            plain.append(line)
    return [
        *plain,
        *(f"from {module} import {', '.join(_ordered(names))}" for module, names in froms.items()),
    ]


def _ordered(names: set[str]) -> list[str]:
    """Constants, then classes, then functions, as import sorters order them."""
    return sorted(
        names, key=lambda n: (0 if n.isupper() and len(n) > 1 else 1 if n[0].isupper() else 2, n)
    )


def _sorted(lines: list[str], *, standard: bool) -> list[str]:
    def is_torch(line: str) -> bool:
        return line.split()[1].partition(".")[0] == "torch"

    chosen = [line for line in lines if is_torch(line) != standard]
    return sorted(chosen, key=lambda line: (line.startswith("from "), line.split()[1].lower()))


@cache
def parts_digest() -> str:
    """Digest of all parts' source: two nodes with other parts run other code."""
    total = hashlib.sha256()
    for module in sorted(set(part_index().values())):
        total.update(part_source(module).encode())
    return total.hexdigest()[:12]
