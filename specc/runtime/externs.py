"""Compares externs with what a spec declares of them: imports, builds and calls without memory."""

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)

from specc.diagnostics import Diagnostic, Report, nearest
from specc.plan.externs import extern_uses
from specc.plan.facts import Facts
from specc.plan.foreign import local_formals
from specc.program.dims import size
from specc.program.program import Extern, Program
from specc.runtime.beside import modules_beside
from specc.runtime.extern_promises import Promises, Seen, compare, compare_pieces
from specc.source import Span

LEADING = 2
"""Size of the one dim that stands for `..` where an extern is called."""

# Not a fault of the extern: without values, or without a formula for its shapes, it cannot be told.
UNTOLD = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)


@attrs.frozen
class Binding:
    """One way in which a model uses an extern: the sizes of its dims.

    Args:
        pieces: those of a rank, of the dims of which each rank has a piece.
    """

    extern: str
    sizes: tuple[tuple[str, int], ...]
    pieces: tuple[tuple[str, int], ...]


def check_externs(program: Program, facts: Facts | None) -> tuple[Diagnostic, ...]:
    """What is wrong with the externs of a program.

    Args:
        facts: None for a library, whose externs are imported and not built.
    """
    report = Report()
    with modules_beside(program.source.name), contextlib.redirect_stdout(sys.stderr):
        found = {name: _import(extern, report) for name, extern in program.externs.items()}
        for binding in _bindings(facts) if facts is not None else ():
            if found[binding.extern] is not None:
                assert facts is not None
                _check(found[binding.extern], binding, facts, report)
    return report.diagnostics


# -------------------------------------------------------------------------------------- import


def _import(extern: Extern, report: Report) -> Any:  # noqa: ANN401  a class or a function
    """What the extern names; None where it is not there, which is reported."""
    path = extern.declaration.path.span
    try:
        module = importlib.import_module(extern.module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{extern.module}.".startswith(f"{error.name}."):
            _report_raised(extern, path, f"importing `{extern.module}`", error, report)
            return None
        near = nearest(extern.module, _modules_beside(extern))
        title = f"there is no module `{error.name}` here"
        help_ = f"did you mean `{near}`?" if near else "install it, or put it beside the spec"
        report.error("E0501", path, title, "not found", helps=[help_])
        return None
    except (Exception, SystemExit) as error:  # noqa: BLE001  somebody else's module may raise anything
        _report_raised(extern, path, f"importing `{extern.module}`", error, report)
        return None
    found = getattr(module, extern.attribute, None)
    if found is None:
        _report_missing(extern, module, report)
    return found


def _modules_beside(extern: Extern) -> list[str]:
    folder = Path(extern.declaration.path.span.source.name).parent
    return [path.stem for path in folder.glob("*.py")]


def _report_missing(extern: Extern, module: object, report: Report) -> None:
    path = extern.declaration.path.span
    begin = path.start + 1 + len(extern.module) + 1  # behind the quote, the module and the colon
    near = nearest(extern.attribute, dir(module))
    file = getattr(module, "__file__", None)
    report.error(
        "E0501",
        Span(path.source, begin, path.end - 1),
        f"`{extern.module}` has no `{extern.attribute}`",
        "not in the module",
        notes=[f"imported from {file}"] if file else [],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _report_raised(
    extern: Extern, span: Span, doing: str, error: BaseException, report: Report
) -> None:
    what = f"{type(error).__name__}: {error}".strip().rstrip(":")
    first, *rest = what.splitlines()
    if isinstance(error, UNTOLD):
        title = f"{doing} without memory is not possible: its shapes are not compared"
        report.warning("E0504", span, title, "declared here", notes=[first])
        return
    notes = [f"`{extern.name}` is `{extern.declaration.path.value}`", *rest[:8]]
    report.error("E0504", span, f"{doing} raises {first}", "declared here", notes=notes)


# ---------------------------------------------------------------------------------------- uses


def _bindings(facts: Facts) -> Iterator[Binding]:
    """Every binding of dims with which the model uses an extern, once."""
    seen: dict[Binding, None] = {}
    tensor = facts.layout.tensor
    degree = facts.mesh.degree(tensor.axes) if tensor is not None else 1
    for use in extern_uses(facts):
        declared = facts.program.externs[use.extern].declaration
        sizes = {dim: size(entry, facts.sizes) for dim, entry in use.dims.items() if dim != ".."}
        pieces = {dim: sizes[dim] // degree for dim in local_formals(declared, use.dims, tensor)}
        seen[Binding(use.extern, tuple(sizes.items()), tuple(sorted(pieces.items())))] = None
    yield from seen


# --------------------------------------------------------------------------------------- check


def _check(what: Any, binding: Binding, facts: Facts, report: Report) -> None:  # noqa: ANN401
    """Build and call an extern with the sizes of one use, and of a rank, and compare."""
    promises = Promises(facts.program.externs[binding.extern].declaration, facts, LEADING)
    sizes, own = dict(binding.sizes), Report()
    seen = _look(what, binding, promises, own)
    if seen is not None:
        other = _seen_with(what, promises, promises.other_sizes(sizes))
        compare(promises, sizes, seen, other, own)
    report.extend(own.diagnostics)
    if seen is None or own.failed or not binding.pieces:
        return
    pieces = attrs.evolve(promises, pieces=dict(binding.pieces))
    here = _look(what, binding, pieces, report)
    if here is not None:
        compare_pieces(pieces, sizes, here, seen, report)


def _look(
    what: Any,  # noqa: ANN401
    binding: Binding,
    promises: Promises,
    report: Report,
) -> Seen | None:
    """What is seen of an extern that is built and called; None if it cannot be built."""
    extern = promises.facts.program.externs[binding.extern]
    sizes = dict(binding.sizes)
    name = extern.declaration.name_span
    with FakeTensorMode(allow_non_fake_inputs=True):
        try:
            made = what if extern.is_function else _make(what, promises, sizes)
        except (Exception, SystemExit) as error:  # noqa: BLE001  nor what it may raise
            doing = f"`{extern.attribute}({_call_text(promises, sizes)})`{promises.where}"
            _report_raised(extern, name, doing, error, report)
            return None
        seen = _seen(made) if isinstance(made, nn.Module) else Seen({}, None)
        try:
            results = _results(made(*_inputs(promises, sizes)))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            shapes = ", ".join(str(list(shape)) for _, shape in promises.inputs(sizes))
            doing = f"calling `{extern.attribute}` with {shapes}{promises.where}"
            _report_raised(extern, name, doing, error, report)
            results = None
    return attrs.evolve(seen, results=results)


def _make(what: Any, promises: Promises, sizes: Mapping[str, int]) -> Any:  # noqa: ANN401
    values = promises.arguments(sizes)
    plain = [value for key, value in values.items() if key.isdigit()]
    return what(*plain, **{key: value for key, value in values.items() if not key.isdigit()})


def _call_text(promises: Promises, sizes: Mapping[str, int]) -> str:
    values = promises.arguments(sizes).items()
    return ", ".join(repr(v) if k.isdigit() else f"{k}={v!r}" for k, v in values)


def _seen_with(
    what: Any,  # noqa: ANN401
    promises: Promises,
    sizes: Mapping[str, int],
) -> Seen | None:
    """Tensors of the class made with other sizes, which tell what the sizes follow; or None."""
    if promises.declared.init is None and not promises.declared.weights:
        return None
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            made = _make(what, promises, sizes)
    except (Exception, SystemExit):  # noqa: BLE001  these sizes are ours: they need not fit
        return None
    return _seen(made) if isinstance(made, nn.Module) else None


def _seen(module: nn.Module) -> Seen:
    """Shapes of the parameters and buffers of a module, a shared one once."""
    saved = module.state_dict(keep_vars=True)
    buffers = dict(module.named_buffers())
    kept = {name: buffer for name, buffer in buffers.items() if name in saved}
    tensors: dict[str, Tensor] = {**dict(module.named_parameters()), **kept}
    return Seen(_shapes(tensors), None, frozenset(kept), _shapes(buffers))


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _inputs(promises: Promises, sizes: Mapping[str, int]) -> list[Tensor]:
    dtypes = {"i64": torch.int64, "bool": torch.bool, "bf16": torch.bfloat16, "fp16": torch.half}
    return [
        torch.zeros(shape, dtype=dtypes.get(dtype or "", torch.float32))
        for dtype, shape in promises.inputs(sizes)
    ]


def _results(results: object) -> tuple[tuple[int, ...] | str, ...]:
    """Shapes of what a call gave; the type's name for what is no tensor."""
    items = results if isinstance(results, tuple | list) else (results,)
    return tuple(
        tuple(item.shape) if isinstance(item, Tensor) else type(item).__name__ for item in items
    )
