"""`from "lib/llama.spec" use Block`: files inside the root, names only, no cycles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from specc.diagnostics import nearest
from specc.resolve.scope import BlockHome, Scope
from specc.syntax import tree
from specc.syntax.parse import parse
from specc.syntax.read import read_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from specc.diagnostics import Report
    from specc.source import Source

MAX_IMPORT_DEPTH = 16


def root_of(path: Path) -> Path:
    """The folder that imports must stay in: the nearest parent with `.git`, else the file's own."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return folder


@attrs.define
class Imports:
    """Reads imported files once; `sources` are all files read, the first one included."""

    report: Report
    root: Path
    declare: Callable[[tree.File, Report], Scope]
    sources: list[Source] = attrs.field(factory=lambda: [])  # noqa: PIE807  typed
    _scopes: dict[Path, Scope] = attrs.field(factory=lambda: {})  # noqa: PIE807  typed
    _open: list[Path] = attrs.field(factory=lambda: [])  # noqa: PIE807  typed

    def scope_of(self, file: tree.File, path: Path) -> Scope:
        """The scope of a parsed file, its imports followed."""
        self.sources.append(file.source)
        self._open.append(path.resolve())
        scope = self.declare(file, self.report)
        for use in file.declarations:
            if isinstance(use, tree.Use):
                self._follow(use, path, scope)
        self._open.pop()
        return scope

    def _follow(self, use: tree.Use, path: Path, scope: Scope) -> None:
        other = self._load(use, path)
        for item in use.items:
            name = item.alias or item.name
            if other is None or item.name in other.poisoned:
                scope.poisoned = scope.poisoned | {name}
            else:
                self._bring(use, item, other, scope, name)

    def _load(self, use: tree.Use, path: Path) -> Scope | None:
        wanted = (path.parent / use.path.value).resolve()
        if not wanted.is_relative_to(self.root.resolve()):
            self.report.error(
                "E0130",
                use.path.span,
                f"`{use.path.value}` lies outside the root of the spec",
                "outside",
                notes=[
                    "the root is the nearest parent folder with `.git`, else the spec's own folder"
                ],
            )
            return None
        if wanted in self._open:
            loop = " -> ".join(p.name for p in [*self._open[self._open.index(wanted) :], wanted])
            self.report.error(
                "E0112", use.path.span, f"imports form a circle: {loop}", "closes the circle"
            )
            return None
        if len(self._open) >= MAX_IMPORT_DEPTH:
            self.report.error(
                "E0131",
                use.path.span,
                f"imports are nested more than {MAX_IMPORT_DEPTH} deep",
                "too deep",
            )
            return None
        if wanted not in self._scopes:
            loaded = self._read(use, path, wanted)
            if loaded is None:
                return None
            self._scopes[wanted] = loaded
        return self._scopes[wanted]

    def _read(self, use: tree.Use, path: Path, wanted: Path) -> Scope | None:
        shown = path.parent / use.path.value
        if not wanted.is_file():
            siblings = (
                [p.name for p in wanted.parent.glob("*.spec")] if wanted.parent.is_dir() else []
            )
            near = nearest(wanted.name, siblings)
            self.report.error(
                "E0110",
                use.path.span,
                f"cannot find `{use.path.value}`",
                "no such file",
                notes=[f"looked for {shown}"],
                helps=[f"did you mean `{near}`?"] if near else [],
            )
            return None
        source = read_source(shown)
        if isinstance(source, tuple):
            self.report.extend(source)
            return None
        file, found = parse(source)
        self.report.extend(found)
        return self.scope_of(file, shown)

    def _bring(
        self, use: tree.Use, item: tree.UseItem, other: Scope, scope: Scope, name: str
    ) -> None:
        if item.name in other.blocks:
            home = other.blocks[item.name]
            scope.blocks[name] = BlockHome(home.block, home.scope, imported=True)
        elif item.name in other.clusters:
            scope.clusters[name] = other.clusters[item.name]
        elif item.name in other.externs:
            scope.externs[name] = other.externs[item.name]
        elif item.name in other.dims:
            scope.dims[name] = attrs.evolve(other.dims[item.name], name=name)
        elif item.name in other.lets:
            scope.lets[name] = attrs.evolve(other.lets[item.name], name=name)
        else:
            scope.poisoned = scope.poisoned | {name}
            there = [*other.blocks, *other.clusters, *other.externs, *other.dims, *other.lets]
            near = nearest(item.name, there)
            self.report.error(
                "E0111",
                item.span,
                f"`{use.path.value}` has no `{item.name}`",
                "not declared there",
                notes=[] if near else [f"it has: {', '.join(there)}"],
                helps=[f"did you mean `{near}`?"] if near else [],
            )
