"""Figures of the machine that the mesh names, and axes whose groups cross its nodes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from specc.check.names import Unknown
from specc.check.settings import report_unknown, typed, unit_of
from specc.plan.facts import Cluster
from specc.vocabulary.record import Setting, SettingValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.check.assignments import Choice
    from specc.check.expressions import Scope
    from specc.check.overrides import Settled
    from specc.diagnostics import Report
    from specc.plan.facts import Axis, Layout, Mesh
    from specc.program.program import Program

SETTINGS = {
    "device": Setting("device", "word"),
    "nodes": Setting("nodes", "int"),
    "gpus": Setting("gpus", "int"),
    "memory": Setting("memory", "bytes"),
    "host_memory": Setting("host_memory", "bytes"),
}
RATES = ("intra", "inter")


def evaluate_cluster(
    program: Program, settled: Settled, scope: Scope, targets: tuple[str, ...]
) -> Cluster | None:
    """The cluster that the mesh names, or None; what is wrong in it is reported."""
    if program.cluster is None:
        return None
    values: dict[str, SettingValue] = {}
    for name, choice in settled.part("cluster").items():
        if name in RATES:
            _check_rate(name, choice, scope)
        elif name not in SETTINGS:
            report_unknown("cluster", name, choice.span, [*SETTINGS, *RATES], scope.report)
        else:
            setting = SETTINGS[name]
            if name == "device":
                setting = Setting("device", "word", choices=targets)
            value = typed(f"cluster.{name}", setting, choice.value, scope)
            values[name] = None if isinstance(value, Unknown) else value
    return Cluster(
        program.cluster.name,
        _text(values.get("device")),
        _count(values.get("nodes")),
        _count(values.get("gpus")),
        _count(values.get("memory")),
        _count(values.get("host_memory")),
    )


def _text(value: SettingValue) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: SettingValue) -> int | None:
    return value if isinstance(value, int) else None


def _check_rate(name: str, choice: Choice, scope: Scope) -> None:
    if unit_of(choice.value, scope) != "rate":
        scope.report.error(
            "E0602",
            choice.value.span,
            f"`cluster.{name}` is a rate; `{choice.value.span.text}` has another unit or none",
            "bytes or bits a second?",
            helps=["write `64GBps` or `200Gbps`"],
        )


def warn_of_crossings(mesh: Mesh, cluster: Cluster | None, layout: Layout, report: Report) -> None:
    """Warn of axes that move activations and whose groups span more nodes than they must.

    The more an axis moves, the further inside it belongs: tensor splits, then Ulysses, then rings.
    """
    if cluster is None or not cluster.gpus:
        return
    inside: list[Axis] = []
    for axis, what in _movers(mesh, layout):
        if axis in inside:  # another method over it, inside other parts
            continue
        spanned = _nodes_spanned(axis, axis.stride, cluster.gpus)
        must = _nodes_spanned(axis, prod(each.size.value for each in inside), cluster.gpus)
        if spanned > must:
            names = " and ".join(f"`{each.name}`" for each in inside if each.size.value > 1)
            where = f"right before {names}" if names else "last"
            help_ = f"put `{axis.name}` {where} in the mesh"
            _warn_of_crossing(axis, spanned, cluster, what, help_, report)
        elif spanned > 1 and what == TENSOR:
            help_ = f"split tensors over at most the {cluster.gpus} ranks of a node"
            _warn_of_crossing(axis, spanned, cluster, what, help_, report)
        inside.insert(0, axis)


TENSOR = "the split of tensors"


def _movers(mesh: Mesh, layout: Layout) -> Iterator[tuple[Axis, str]]:
    """Axes that move activations, with what moves them; the one that moves most comes first."""
    if layout.tensor is not None:
        for name in reversed(layout.tensor.axes):
            yield mesh.axis(name), TENSOR
    for method in sorted(layout.methods, key=lambda method: method.name == "ring"):
        for name in reversed(method.axes):
            yield mesh.axis(name), f"`{method.name}`"


def _nodes_spanned(axis: Axis, stride: int, gpus: int) -> int:
    return len({rank // gpus for rank in range(0, stride * axis.size.value, stride)})


def _warn_of_crossing(
    axis: Axis, spanned: int, cluster: Cluster, what: str, way_out: str, report: Report
) -> None:
    gpus = cluster.gpus or 1
    ranks = " ".join(str(axis.stride * i) for i in range(min(axis.size.value, 4)))
    more = " .." if axis.size.value > 4 else ""
    report.warning(
        "E0305",
        axis.span,
        f"each `{axis.name}` group spans {spanned} nodes",
        f"stride {axis.stride}: ranks {ranks}{more}",
        notes=[
            f"the last axis varies fastest; a node of {cluster.name} holds {gpus} ranks in a row",
            f"{what} moves activations over `{axis.name}` in every layer",
        ],
        helps=[way_out],
    )
