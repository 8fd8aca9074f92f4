"""The device mesh: leaf axes with sizes and strides, and the world that they fill."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import attrs

from specc.check.expressions import Scope, compute, whole
from specc.check.names import Names, Unknown
from specc.check.overrides import Settled, axes_of, settle
from specc.check.texts import constant, names_in, size_text
from specc.diagnostics import Report
from specc.plan.facts import Axis, Mesh, Size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.plan.facts import Cluster
    from specc.program.program import Program
    from specc.situation import Situation
    from specc.source import Span
    from specc.syntax import tree

SMALLEST = (
    2,
    4,
)  # degrees of open axes when nobody says the world: the least that act, and one more
MOST_STEPS = 1024


@attrs.frozen
class World:
    """A number of ranks and who said it, for messages."""

    ranks: int
    who: str


def evaluate_mesh(
    program: Program,
    settled: Settled,
    situation: Situation,
    cluster: Cluster | None,
    report: Report,
) -> Mesh | None:
    """The mesh of a situation; None when something is wrong with it, which has been reported."""
    tree_mesh = program.mesh
    if tree_mesh is None:
        return _no_mesh(situation, report)
    world = _stated_world(settled, situation, cluster)
    sizing = Sizing(settled, report)
    if world is None:
        smallest = _small_worlds(tree_mesh, settled)
        ranks = smallest[0] if smallest else None
    else:
        ranks = world.ranks
    sizes = sizing.mesh(tree_mesh, ranks)
    if sizes is None:
        return None
    total = prod(sizes[axis.name] for axis in tree_mesh.axes)
    if world is not None and total != world.ranks:
        _report_world(tree_mesh, sizes, total, world, report)
        return None
    return _mesh(tree_mesh, settled, sizes, total)


def worlds(program: Program, situation: Situation) -> tuple[int, ...]:
    """The two smallest worlds in which every open axis acts; empty when the world is known."""
    settled = settle(program, situation, Report())
    if program.mesh is None or situation.world is not None:
        return ()
    return _small_worlds(program.mesh, settled)


def axis_sizes(mesh: Mesh) -> dict[str, int]:
    """Size of every name that an expression may use: leaves, and axes with sub-axes."""
    return {name: mesh.degree(leaves) for name, leaves in mesh.products.items()}


# ------------------------------------------------------------------------------------- world


def _no_mesh(situation: Situation, report: Report) -> Mesh | None:
    if situation.world in (None, 1):
        return Mesh((), {}, 1, world_is_open=False)
    report.error(
        "E0301",
        None,
        f"the spec has no mesh, and the world has {situation.world} ranks",
        helps=["say what the ranks are for: `mesh { dp = world }`"],
    )
    return None


def _stated_world(settled: Settled, situation: Situation, cluster: Cluster | None) -> World | None:
    """The world that a person says, else the cluster's unless a level has changed the mesh."""
    if situation.world is not None:
        return World(situation.world, "the world")
    axes = settled.part("mesh").values()
    changed = any(choice.level != "file" for choice in axes)
    is_open = any(_is_open(choice.value) for choice in axes)
    if (
        cluster is None
        or cluster.nodes is None
        or cluster.gpus is None
        or (changed and not is_open)
    ):
        return None
    return World(cluster.nodes * cluster.gpus, f"`{cluster.name}`")


def _is_open(size: tree.Expr) -> bool:
    return bool({"world", "rest"} & names_in(size))


def _small_worlds(mesh: tree.Mesh, settled: Settled) -> tuple[int, ...]:
    """The smallest worlds in which every open leaf has 2, then 4 ranks; () if none is open."""
    leaves = [axis for axis in axes_of(mesh) if not axis.axes]
    open_leaves = [a.name for a in leaves if _is_open(settled.values[f"mesh.{a.name}"].value)]
    if not open_leaves and not any(
        _is_open(settled.values[f"mesh.{axis.name}"].value) for axis in mesh.axes
    ):
        return ()
    step = _fixed_product(leaves, settled)
    found: list[int] = []
    for ranks in range(step, step * MOST_STEPS, step):
        sizes = Sizing(settled, Report()).mesh(mesh, ranks)
        if sizes is None or prod(sizes[axis.name] for axis in mesh.axes) != ranks:
            continue
        if all(sizes[name] >= SMALLEST[len(found)] for name in open_leaves):
            found.append(ranks)
        if len(found) == len(SMALLEST):
            break
    return tuple(found) or (step * SMALLEST[0],)


def _fixed_product(leaves: list[tree.Axis], settled: Settled) -> int:
    sizing = Sizing(settled, Report())
    sizes = [
        sizing.number(settled.values[f"mesh.{axis.name}"].value, None)
        for axis in leaves
        if not _is_open(settled.values[f"mesh.{axis.name}"].value)
    ]
    return prod(size for size in sizes if isinstance(size, int))


# ------------------------------------------------------------------------------------- sizes


class Sizing:
    """Sizes of the axes of one mesh, in one world."""

    def __init__(self, settled: Settled, report: Report) -> None:
        self.settled = settled
        self.report = report
        axis_names = frozenset(settled.part("mesh"))
        self.names = Names(settled.names, None, axis_names, report, compute)

    def mesh(self, mesh: tree.Mesh, world: int | None) -> dict[str, int] | None:
        """Size of every axis by name; None when one is wrong."""
        sizes: dict[str, int] = {}
        sound = self._level(mesh.axes, world, world, sizes)
        return sizes if sound else None

    def number(self, size: tree.Expr, world: int | None) -> int | Unknown:
        """Size of an axis whose expression is not `rest`."""
        local = {} if world is None else {"world": world}
        return whole(size, Scope(self.names, self.report, local), least=1)

    def _level(
        self,
        axes: tuple[tree.Axis, ...],
        total: int | None,
        world: int | None,
        sizes: dict[str, int],
    ) -> bool:
        """Sizes of sibling axes that multiply to `total`, and of everything inside them."""
        choices = {axis.name: self.settled.values[f"mesh.{axis.name}"] for axis in axes}
        rests = [name for name, choice in choices.items() if choice.value.span.text == "rest"]
        if len(rests) > 1:
            self._report_rests([choices[name].value.span for name in rests])
            return False
        for name, choice in choices.items():
            if name not in rests:
                value = self.number(choice.value, world)
                if isinstance(value, Unknown):
                    return False
                sizes[name] = value
        fixed = prod(sizes[name] for name in choices if name not in rests)
        for name in rests:
            if total is None or total % fixed:
                self._report_rest(name, total, fixed, choices[name].value.span)
                return False
            sizes[name] = total // fixed
        return all(self._inside(axis, world, sizes) for axis in axes if axis.axes)

    def _inside(self, axis: tree.Axis, world: int | None, sizes: dict[str, int]) -> bool:
        if not self._level(axis.axes, sizes[axis.name], world, sizes):
            return False
        product = prod(sizes[inner.name] for inner in axis.axes)
        if product == sizes[axis.name]:
            return True
        shown = " x ".join(f"{inner.name}={sizes[inner.name]}" for inner in axis.axes)
        self.report.error(
            "E0303",
            axis.span,
            f"sub-axes of `{axis.name}` multiply to {product}, not {sizes[axis.name]}",
            f"{shown} = {product}",
            helps=["set one of them to `rest`"],
        )
        return False

    def _report_rests(self, spans: list[Span]) -> None:
        self.report.error(
            "E0304",
            spans[1],
            "only one axis can be `rest`",
            "and this one",
            also=[(spans[0], "this axis")],
            helps=["give one of them a number"],
        )

    def _report_rest(self, name: str, total: int | None, fixed: int, span: Span) -> None:
        title = f"world size {total} is not divisible by {fixed}"
        label = f"`rest` of `{name}` cannot be a whole number"
        self.report.error("E0302", span, title, label)


def _report_world(
    mesh: tree.Mesh, sizes: Mapping[str, int], total: int, world: World, report: Report
) -> None:
    shown = " x ".join(f"{axis.name}={sizes[axis.name]}" for axis in mesh.axes)
    report.error(
        "E0301",
        mesh.span,
        f"mesh has {total} ranks but {world.who} has {world.ranks}",
        f"{shown} = {total}",
        helps=["set one axis to `rest`"],
    )


# -------------------------------------------------------------------------------------- mesh


def _mesh(mesh: tree.Mesh, settled: Settled, sizes: Mapping[str, int], total: int) -> Mesh:
    leaves = [axis for axis in axes_of(mesh) if not axis.axes]
    opened = set(_open_leaves(mesh.axes, settled))
    axes: list[Axis] = []
    stride = total
    for leaf in leaves:
        stride //= sizes[leaf.name]
        others = [other.name for other in leaves if other is not leaf]
        text = _world_text(leaf, settled, others) if leaf.name in opened else str(sizes[leaf.name])
        axes.append(Axis(leaf.name, Size(sizes[leaf.name], text), stride, leaf.span))
    products = {axis.name: _leaves_of(axis) for axis in axes_of(mesh)}
    return Mesh(tuple(axes), products, total, world_is_open=bool(opened))


def _leaves_of(axis: tree.Axis) -> tuple[str, ...]:
    if not axis.axes:
        return (axis.name,)
    return tuple(leaf for inner in axis.axes for leaf in _leaves_of(inner))


def _open_leaves(axes: tuple[tree.Axis, ...], settled: Settled) -> Iterator[str]:
    """Leaves whose size follows from the world: open themselves, inside open axes only."""
    for axis in axes:
        if not _is_open(settled.values[f"mesh.{axis.name}"].value):
            continue
        if axis.axes:
            yield from _open_leaves(axis.axes, settled)
        else:
            yield axis.name


def _world_text(leaf: tree.Axis, settled: Settled, others: list[str]) -> str:
    size = settled.values[f"mesh.{leaf.name}"].value
    if size.span.text != "rest":
        return size_text(size, constant)
    divisor = " * ".join(constant(name) for name in others)
    if len(others) > 1:
        divisor = f"({divisor})"
    return f"WORLD // {divisor}" if others else "WORLD"
