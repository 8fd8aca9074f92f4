"""Compares externs with what a spec declares of them: imports them, builds them without memory."""

import importlib
from collections.abc import Mapping

from specc.diagnostics import Diagnostic, Report, nearest
from specc.plan.facts import Facts, Module
from specc.plan.holding import HeldTensor
from specc.program.dims import show_shape
from specc.program.model import Foreign
from specc.program.program import Extern, Program
from specc.runtime.beside import modules_beside
from specc.runtime.session import held_without_devices
from specc.source import Span


def check_externs(program: Program, facts: Facts | None, text: str) -> tuple[Diagnostic, ...]:
    """What is wrong with the externs of a program.

    Args:
        facts: None for a library, whose externs are imported and not built.
        text: of the training.
    """
    report = Report()
    with modules_beside(program.source.name):
        for extern in program.externs.values():
            _import(extern, report)
        if facts is not None and not report.failed and program.externs:
            _build(facts, text, report)
    return report.diagnostics


def _import(extern: Extern, report: Report) -> None:
    """Report a module that cannot be imported, or that lacks the name."""
    path = extern.declaration.path.span
    try:
        module = importlib.import_module(extern.module)
    except Exception as error:  # noqa: BLE001  somebody else's module may raise anything
        title = f"`{extern.module}` cannot be imported: {type(error).__name__}: {error}"
        helps = ["install it, or put it beside the spec"]
        report.error("E0501", path, title, "imported from here", helps=helps)
        return
    if hasattr(module, extern.attribute):
        return
    near = nearest(extern.attribute, dir(module))
    file = getattr(module, "__file__", None)
    report.error(
        "E0501",
        path,
        f"`{extern.module}` has no `{extern.attribute}`",
        "not in the module",
        notes=[f"imported from {file}"] if file else [],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _build(facts: Facts, text: str, report: Report) -> None:
    """Build the model without memory and compare the tensors of every extern."""
    modules = [m for m in facts.model.walk() if isinstance(m.what, Foreign)]
    if not modules:
        return
    try:
        held = {tensor.name: tensor for tensor in held_without_devices(text, facts)}
    except Exception as error:  # noqa: BLE001  somebody else's constructor may raise anything
        names = ", ".join(f"`{module.type}`" for module in {m.type: m for m in modules}.values())
        extern = facts.program.externs[_foreign(modules[0]).extern]
        title = f"the model cannot be built with {names}: {type(error).__name__}: {error}"
        note = "its arguments are those of `init(..)`"
        report.error("E0504", extern.declaration.name_span, title, "declared here", notes=[note])
        return
    for module in modules:
        _compare(facts, module, held, report)


def _foreign(module: Module) -> Foreign:
    assert isinstance(module.what, Foreign)
    return module.what


def _compare(facts: Facts, module: Module, held: Mapping[str, HeldTensor], report: Report) -> None:
    extern = facts.program.externs[_foreign(module).extern]
    prefix = f"{module.path}."
    there = {name.removeprefix(prefix): t for name, t in held.items() if name.startswith(prefix)}
    spans = {weight.name: weight.span for weight in extern.declaration.weights}
    for parameter in module.parameters:
        name = parameter.name.removeprefix(prefix)
        span = spans.get(name, extern.declaration.name_span)
        said = f"{show_shape(parameter.shape)} = {list(parameter.sizes)}"
        if name not in there:
            _report_missing(extern, name, span, there, report)
        elif there[name].sizes != parameter.sizes:
            title = (
                f"`{extern.attribute}.{name}` is {list(there[name].sizes)}, "
                f"its declaration says {said}"
            )
            report.error("E0502", span, title, "another shape")
    declared = {parameter.name.removeprefix(prefix) for parameter in module.parameters}
    _report_extra(extern, [name for name in there if name not in declared], there, report)


def _report_missing(
    extern: Extern, name: str, span: Span, there: Mapping[str, HeldTensor], report: Report
) -> None:
    near = nearest(name, there)
    report.error(
        "E0502",
        span,
        f"`{extern.attribute}` has no parameter `{name}`",
        "declared here",
        notes=[f"it has: {', '.join(there)}" if there else "it has none"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _report_extra(
    extern: Extern, names: list[str], there: Mapping[str, HeldTensor], report: Report
) -> None:
    if not names:
        return
    several = len(names) > 1
    count = f"{len(names)} parameters" if several else "a parameter"
    shown = [f"{name}: {list(there[name].sizes)}" for name in names[:8]]
    report.error(
        "E0503",
        extern.declaration.name_span,
        f"`{extern.attribute}` has {count} its declaration does not list",
        "declared here",
        notes=[*shown, *([f"and {len(names) - 8} more"] if len(names) > 8 else [])],
        helps=["add a line `param NAME: [..]` for each, its shape in named dims"],
    )
