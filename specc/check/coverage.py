"""Whether axis rules use every axis, split data where they store, and never meet on a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.selectors import spelled
from specc.plan.flow import types_of
from specc.program.dims import shape_names, show_shape
from specc.program.model import ApplyPart
from specc.program.walk import values_of
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.check.layout import AxisRules
    from specc.diagnostics import Report
    from specc.plan.facts import Compile, Facts, Mesh, Split
    from specc.program.dims import Shape
    from specc.program.program import Program


def check_axes(program: Program, mesh: Mesh, rules: AxisRules, report: Report) -> None:
    """Report axes without a rule, storage axes that split no data, and dims that meet."""
    _check_used(mesh, rules, report)
    _check_data(rules, report)
    _check_meetings(program, rules.splits, report)
    _check_tensor_axes(rules, report)


def _check_used(mesh: Mesh, rules: AxisRules, report: Report) -> None:
    for axis in mesh.axes:
        if axis.name in rules.used:
            continue
        report.error(
            "E0411",
            axis.span,
            f"no rule uses mesh axis `{axis.name}`",
            f"{axis.size.value} ranks would do the same work",
            helps=[f"add a rule (`{axis.name}: shard B`), or say so: `{axis.name}: replicate`"],
        )


def _check_data(rules: AxisRules, report: Report) -> None:
    storage = rules.storage
    if storage is None:
        return
    splitting = {name for split in rules.splits for name in split.axes}
    apart = rules.tensor.axes if rules.tensor is not None else ()
    idle = [name for name in storage.axes if name not in splitting and name not in apart]
    if not idle:
        return
    shown = "*".join(idle)
    report.error(
        "E0413",
        storage.span,
        f"`{shown}` shards {storage.kind} but no data",
        "every rank would train on the same batch",
        helps=[f"write `{shown}: shard B` as well"],
    )


def _check_meetings(program: Program, splits: tuple[Split, ...], report: Report) -> None:
    pairs = [
        (first, second)
        for index, first in enumerate(splits)
        for second in splits[index + 1 :]
        if set(first.axes) & set(second.axes)
    ]
    if not pairs:
        return
    shapes = dict(_shapes(program))
    for first, second in pairs:
        for name, shape in shapes.items():
            if {first.dim, second.dim} <= set(shape_names(shape)):
                axis = next(a for a in first.axes if a in second.axes)
                report.error(
                    "E0409",
                    second.rule,
                    f"`{first.dim}` and `{second.dim}` are both split over `{axis}`, "
                    f"and `{name}: {show_shape(shape)}` has both",
                    "one axis can split one dim of a tensor",
                    also=[(first.rule, f"`{first.dim}` is split here")],
                    helps=["give one of them another axis"],
                )
                break


def _check_tensor_axes(rules: AxisRules, report: Report) -> None:
    """Report an axis that splits parameters by their dims, and data or storage as well."""
    tensor = rules.tensor
    if tensor is None:
        return
    also = [(tensor.rule, f"`{tensor.dims[0]}` is split here")]
    for split in rules.splits:
        for name in (axis for axis in split.axes if axis in tensor.axes):
            title = (
                f"`{name}` splits `{split.dim}` of the data and `{tensor.dims[0]}` of parameters"
            )
            label, way = "one axis can split one dim of a tensor", "give one of them another axis"
            report.error("E0409", split.rule, title, label, also=also, helps=[way])
    storage = rules.storage
    if storage is not None and set(storage.axes) & set(tensor.axes):
        axes = "*".join(name for name in storage.axes if name in tensor.axes)
        title = f"`{axes}` splits parameters by their dims, and shards {storage.kind}, too"
        label, way = "one axis can split a tensor once", f"leave `{axes}` out of this rule"
        report.error("E0409", storage.span, title, label, also=also, helps=[way])


def _shapes(program: Program) -> Iterator[tuple[str, Shape]]:
    """Name and shape of every value, fields first."""
    if program.train is not None:
        for field in program.train.fields:
            yield field.name, field.type.shape
    for made in program.classes.values():
        for name, kind in made.inputs:
            yield name, kind.shape
        for value in values_of(made.statements):
            for kind in types_of(value):
                yield f"a value of {made.name}", kind.shape


def check_storage(facts: Facts, compiled: Mapping[str, Compile], report: Report) -> None:
    """Report units inside compiled parts, and a ZeRO stage that accumulation does not need."""
    store = facts.layout.storage
    for unit in store.units:
        for path in unit.modules:
            outer = next((o for o in compiled if _is_inside(path, o)), None)
            if outer is not None and unit.span is not None:
                report.error(
                    "E0417",
                    compiled[outer].span,
                    f"`{spelled(outer)}` is compiled, and `{spelled(path)}` inside it is gathered "
                    "on its own",
                    "compiled as one",
                    also=[(unit.span, "a unit inside it")],
                    helps=["make the compiled part the unit, or compile the parts inside it"],
                )
    _check_chunked(facts, report)
    if store.kind == "optim" and facts.training.accumulate == 1 and store.rule is not None:
        report.warning(
            "E0416",
            store.rule,
            "with `accumulate = 1`, `shard optim` does what `shard grads` does",
            "gradients are reduced once a step anyhow",
            helps=["write `grads`"],
        )


def _check_chunked(facts: Facts, report: Report) -> None:
    """Report a part of a chunked loss that is a unit of its own: each chunk would gather it."""
    made = facts.model.block
    assert made is not None
    for term, settings in zip(facts.training.loss, facts.training.loss_settings, strict=True):
        chunk = find("losses", term.function).chunk
        if chunk is None or settings.get(chunk) is None:
            continue
        classes = term.types[0].shape[-1]
        applied = {
            value.part
            for value in values_of(made.statements)
            if isinstance(value, ApplyPart) and value.types[0].shape[-1:] == (classes,)
        }
        for unit in facts.layout.storage.units:
            name = next((path for path in unit.modules if path in applied), None)
            if name is not None and unit.span is not None:
                report.error(
                    "E0494",
                    unit.span,
                    f"`{name}` as a unit is not built yet under a loss in chunks: every chunk "
                    "would gather it anew",
                    "a unit of its own",
                    also=[(term.span, "runs it chunk by chunk")],
                    helps=[f"leave `{name}`, and what is tied to it, out of `per`"],
                )


def _is_inside(path: str, outer: str) -> bool:
    return path != outer and path.startswith(f"{outer}." if outer else "")
