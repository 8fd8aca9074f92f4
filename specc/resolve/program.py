"""The whole Program of a file: declarations, imports, the model's classes, the training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from specc.diagnostics import nearest
from specc.program.program import Constant, Dim, Extern, Program
from specc.resolve.blocks import Blocks, library_formals
from specc.resolve.imports import Imports, root_of
from specc.resolve.scope import BlockHome, Bound, Scope, Unresolved
from specc.resolve.training import flatten, resolve_train
from specc.syntax import tree

if TYPE_CHECKING:
    from specc.diagnostics import Report
    from specc.program.program import Train

Declared = TypeVar("Declared", tree.DimDecl, tree.Let, tree.Block, tree.Extern, tree.Cluster)
Single = TypeVar("Single", tree.Mesh, tree.Train, tree.Launch)
Titled = TypeVar("Titled", tree.Layout, tree.Target, tree.Profile)


def resolve(file: tree.File, path: Path, report: Report) -> Program | None:
    """The Program of a parsed file, or None when names, types or shapes in it do not hold."""
    imports = Imports(report, root_of(path), declare)
    scope = imports.scope_of(file, path)
    blocks = Blocks(report)
    model = _model(file, scope, blocks)
    _check_libraries(file, scope, blocks)
    bound = Bound(scope, report, {}, {})
    train = _train(file, blocks, model, bound)
    program = _program(file, path, scope, imports, blocks, model, train, bound)
    _report_unused(file, scope, report)
    return None if report.failed else program


# ------------------------------------------------------------------------------- declarations


def declare(file: tree.File, report: Report) -> Scope:
    """The names that a file declares itself; a name declared twice is reported."""
    scope = Scope(file.source, file.poisoned, incomplete=file.incomplete)
    lowered: dict[str, tree.DimDecl] = {}
    for declaration in file.declarations:
        match declaration:
            case tree.DimDecl(name):
                _declare(scope.dims, name, declaration, "dimension", report)
                _refuse_case_twin(lowered, declaration, report)
            case tree.Let(name):
                _declare(scope.lets, name, declaration, "let", report)
            case tree.Block(name):
                homes = {n: h.block for n, h in scope.blocks.items()}
                if _declare(homes, name, declaration, "block", report):
                    scope.blocks[name] = BlockHome(declaration, scope, imported=False)
            case tree.Extern(_, name):
                _declare(scope.externs, name, declaration, "extern", report)
            case tree.Cluster(name):
                _declare(scope.clusters, name, declaration, "cluster", report)
            case _:
                pass
    return scope


def _declare(
    table: dict[str, Declared], name: str, declaration: Declared, what: str, report: Report
) -> bool:
    first = table.get(name)
    if first is None:
        table[name] = declaration
        return True
    report.error(
        "E0203",
        declaration.name_span,
        f"{what} `{name}` is declared twice",
        "again here",
        also=[(first.name_span, "first here")],
    )
    return False


def _refuse_case_twin(
    lowered: dict[str, tree.DimDecl], declaration: tree.DimDecl, report: Report
) -> None:
    twin = lowered.setdefault(declaration.name.lower(), declaration)
    if twin.name != declaration.name:
        report.error(
            "E0209",
            declaration.name_span,
            f"dims `{twin.name}` and `{declaration.name}` differ only by case",
            "a script names its constants in capitals",
            also=[(twin.name_span, "the other one")],
            helps=["rename one of them"],
        )


def _only(file: tree.File, kind: type[Single], what: str, report: Report) -> Single | None:
    """The one declaration of a kind that a file may have once."""
    found = [d for d in file.declarations if isinstance(d, kind)]
    for extra in found[1:]:
        title = f"a file has one `{what}`, this is another"
        also = [(found[0].span, "the first")]
        report.error("E0203", extra.span, title, "again here", also=also)
    return found[0] if found else None


def _named(file: tree.File, kind: type[Titled], what: str, report: Report) -> dict[str, Titled]:
    table: dict[str, Titled] = {}
    for declaration in file.declarations:
        if isinstance(declaration, kind):
            name = declaration.name or ""
            if name in table:
                first = table[name].span
                title = f"{what} `{name}` is declared twice" if name else f"two plain {what}s"
                report.error(
                    "E0203", declaration.span, title, "again here", also=[(first, "first here")]
                )
            else:
                table[name] = declaration
    return table


# -------------------------------------------------------------------------------------- model


def _model(file: tree.File, scope: Scope, blocks: Blocks) -> str | None:
    models = [d for d in file.declarations if isinstance(d, tree.Block) and d.is_model]
    for extra in models[1:]:
        blocks.report.error(
            "E0203",
            extra.name_span,
            "a file has one `model`, this is another",
            "again here",
            also=[(models[0].name_span, "the first")],
        )
    if not models:
        return None
    home = BlockHome(models[0], scope, imported=False)
    scope.used.add(models[0].name)
    try:
        return blocks.instantiate(home, library_formals(models[0]), None, models[0].name_span).key
    except Unresolved:
        return None


def _check_libraries(file: tree.File, scope: Scope, blocks: Blocks) -> None:
    """Read blocks that nobody here uses with their dims standing for themselves."""
    for declaration in file.declarations:
        if isinstance(declaration, tree.Block) and not declaration.is_model:
            if any(c.span is declaration.name_span for c in blocks.classes.values()):
                continue
            home = scope.blocks.get(declaration.name)
            if home is None or home.block is not declaration or declaration.name in scope.used:
                continue
            others = any(
                isinstance(e, tree.Others) for p in declaration.params for e in p.type.shape.entries
            )
            try:
                leading = () if others else None
                blocks.instantiate(
                    home, library_formals(declaration), leading, declaration.name_span
                )
            except Unresolved:
                continue


def _train(file: tree.File, blocks: Blocks, model: str | None, bound: Bound) -> Train | None:
    train = _only(file, tree.Train, "train", bound.report)
    if train is None:
        return None
    made = blocks.classes.get(model) if model is not None else None
    if made is None:
        has_model = any(isinstance(d, tree.Block) and d.is_model for d in file.declarations)
        if not has_model and "model" not in file.incomplete:
            bound.report.error(
                "E0623", train.span, "`train` needs a `model` in the same file", "nothing to train"
            )
        return None
    return resolve_train(train, made, bound)


# ------------------------------------------------------------------------------------ program


def _program(
    file: tree.File,
    path: Path,
    scope: Scope,
    imports: Imports,
    blocks: Blocks,
    model: str | None,
    train: Train | None,
    bound: Bound,
) -> Program:
    report = bound.report
    mesh = _only(file, tree.Mesh, "mesh", report)
    launch = _only(file, tree.Launch, "launch", report)
    externs = {name: _extern(extern) for name, extern in scope.externs.items()}
    return Program(
        name=Path(path).stem,
        source=file.source,
        sources=tuple(imports.sources),
        dims={name: Dim(name, d.size, d.name_span) for name, d in scope.dims.items()},
        lets={name: Constant(name, d.value, d.name_span) for name, d in scope.lets.items()},
        checks=tuple(d for d in file.declarations if isinstance(d, tree.Check)),
        classes=blocks.classes,
        model=model,
        externs=externs,
        mesh=mesh,
        cluster=_cluster(mesh, scope, report),
        layouts=_named(file, tree.Layout, "layout", report),
        train=train,
        launch=flatten(launch.attrs, bound) if launch is not None else {},
        targets=_named(file, tree.Target, "on", report),
        profiles=_named(file, tree.Profile, "profile", report),
    )


def _extern(extern: tree.Extern) -> Extern:
    module, _, attribute = extern.path.value.partition(":")
    is_function = any(
        s.paths == (("call",),) and isinstance(s.value, tree.Name) and s.value.name == "function"
        for s in extern.settings
    )
    return Extern(extern.name, module, attribute, extern, is_function)


def _cluster(mesh: tree.Mesh | None, scope: Scope, report: Report) -> tree.Cluster | None:
    if mesh is None or mesh.cluster is None:
        return None
    name = mesh.cluster.name
    scope.used.add(name)
    if name not in scope.clusters and name not in scope.poisoned:
        near = nearest(name, scope.clusters)
        helps = [f"did you mean `{near}`?"] if near else [f"declare it: `cluster {name} {{ .. }}`"]
        title = f"unknown cluster `{name}`"
        report.error("E0202", mesh.cluster.span, title, "not declared", helps=helps)
    return scope.clusters.get(name)


def _report_unused(file: tree.File, scope: Scope, report: Report) -> None:
    """Warn of imported names that nothing uses; dims and lets are judged where rules are known."""
    if report.failed:
        return
    for use in file.declarations:
        if not isinstance(use, tree.Use):
            continue
        for item in use.items:
            name = item.alias or item.name
            heavy = name in scope.blocks or name in scope.externs or name in scope.clusters
            if heavy and name not in scope.used:
                report.warning(
                    "E0223", item.span, f"imported `{name}` is never used", "not used in this file"
                )
