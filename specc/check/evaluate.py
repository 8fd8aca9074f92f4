"""From a Program and a Situation to Facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.apart import check_apart, check_biases
from specc.check.cluster import warn_of_crossings
from specc.check.coverage import check_axes, check_storage
from specc.check.elements import check_elements
from specc.check.externs import check_externs
from specc.check.graphs import check_graphs
from specc.check.ground import Ground, ground
from specc.check.layout import AxisReader, AxisRules
from specc.check.memory import check_memory
from specc.check.modules import Node, Unfolding, check_holds
from specc.check.offload import OffloadRule, check_offload, offload, offloads
from specc.check.parameters import check_trained, parameters
from specc.check.placement import Placement
from specc.check.rings import check_rings
from specc.check.selectors import Tree
from specc.check.target import check_target
from specc.check.tensor import place_tensors, summed
from specc.check.ties import find_ties
from specc.check.train import training
from specc.check.units import check_islands, storage
from specc.check.verbs import Precisions, compiles, precisions, recomputes
from specc.diagnostics import Report
from specc.plan.facts import Facts, Layout, Module, Offload
from specc.plan.verify import verify
from specc.program.dims import shape_names
from specc.syntax import tree
from specc.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specc.check.ties import Tied
    from specc.plan.facts import Compile, Parameter, Recompute
    from specc.program.program import Program
    from specc.situation import Situation


def evaluate(program: Program, situation: Situation, report: Report) -> Facts | None:
    """Everything that is known of a program in a situation.

    None when something is wrong, which the report says, and for a program that is no run.
    """
    own = Report()
    facts = _facts(program, situation, own)
    report.extend(own.diagnostics)
    if facts is None or own.failed:
        return None
    verify(facts)
    return facts


def _facts(program: Program, situation: Situation, report: Report) -> Facts | None:
    """The facts; each stage stops at faults that the next one would only echo."""
    check_externs(program, TARGETS, report)
    base = ground(program, situation, report)
    if base is None or not program.is_run:
        return None
    check_elements(program, base.sizes, report)
    root = Unfolding(program, base.scope, base.sizes).model()
    if report.failed:
        return None
    model = Tree(root, base.scope)
    layout = program.layouts.get(base.settled.layout)
    ties = find_ties(model)
    rules = Rules.of(layout, model, ties)
    train = program.train
    assert train is not None
    trained = training(program, base.settled, base.scope, base.sizes, rules.dtypes.matmul)
    optimizer = trained.optimizer if trained is not None else None
    made = parameters(train.rules, model, optimizer, rules.dtypes, ties)
    check_trained(program, made, report)
    axes = _axis_rules(program, base, model, layout)
    tensor = axes.tensor
    moved = offload(rules.offloaded)
    host = moved.parameters if moved is not None else frozenset[str]()
    store = storage(axes.storage, base.mesh, model, rules.dtypes, ties, tensor, host)
    check_islands(store, model, rules.dtypes, ties)
    if trained is None or report.failed:
        return None
    check_offload(rules.offloaded, store, made.values(), trained.optimizer, report)
    if moved is not None and base.target.is_host:
        moved = Offload(moved.rule)
        store = storage(axes.storage, base.mesh, model, rules.dtypes, ties, tensor)
    placed = place_tensors(program, model, tensor) if tensor else {}
    if report.failed:
        return None
    name = base.settled.layout
    facts = Facts(
        program=program,
        situation=attrs.evolve(situation, layout=name or None),
        target=base.target,
        dims=base.dims,
        lets=base.lets,
        mesh=base.mesh,
        cluster=base.cluster,
        layout=Layout(name, axes.splits, axes.methods, store, axes.duplicate, tensor, moved),
        model=_module(root, made, rules),
        training=trained,
        placed=placed,
    )
    facts = attrs.evolve(facts, summed=summed(facts, report))
    check_biases(facts, report)
    check_apart(facts, report)
    check_storage(facts, rules.compiled, report)
    check_graphs(facts, report)
    check_rings(facts, report)
    check_target(facts, rules.dtypes, report)
    check_memory(facts, report)
    warn_of_crossings(facts.mesh, facts.cluster, facts.layout, report)
    return facts


@attrs.frozen
class Rules:
    """What the layout's rules about parts say."""

    dtypes: Precisions
    recomputed: Mapping[str, Recompute]
    compiled: Mapping[str, Compile]
    offloaded: tuple[OffloadRule, ...]

    @classmethod
    def of(cls, layout: tree.Layout | None, model: Tree, ties: Tied) -> Rules:
        """The rules of a layout, applied to the unfolded model."""
        rules = layout.rules if layout is not None else ()
        verbs: dict[str, list[tree.VerbRule]] = {}
        for rule in rules:
            if isinstance(rule, tree.VerbRule):
                verbs.setdefault(rule.verb, []).append(rule)
            elif isinstance(rule, tree.Check):
                check_holds(rule, model.scope)
        return cls(
            precisions(verbs.get("precision", []), model),
            recomputes(verbs.get("recompute", []), model),
            compiles(verbs.get("compile", []), model),
            offloads(verbs.get("offload", []), model, ties),
        )


def _axis_rules(
    program: Program, base: Ground, model: Tree, layout: tree.Layout | None
) -> AxisRules:
    fields = base.settled.fields
    data_dims = frozenset(name for field in fields for name in shape_names(field.type.shape))
    rules = layout.rules if layout is not None else ()
    reader = AxisReader(program, base.mesh, model, data_dims, base.sizes)
    axes = reader.read(rule for rule in rules if isinstance(rule, tree.AxisRule))
    if not base.scope.report.failed:
        check_axes(program, base.mesh, axes, base.scope.report)
    if not base.scope.report.failed:
        Placement(program, model, base.mesh, axes, base.sizes).check()
    return axes


def _module(node: Node, made: Mapping[str, Parameter], rules: Rules) -> Module:
    children: Iterable[Module] = (_module(child, made, rules) for child in node.children)
    return Module(
        path=node.path,
        name=node.name,
        type=node.type,
        what=node.what,
        block=node.block,
        statics=node.statics,
        settings=node.settings,
        children=tuple(children),
        parameters=tuple(made[tensor.name] for tensor in node.tensors),
        precision=rules.dtypes.parts[node.path],
        recompute=rules.recomputed.get(node.path),
        compile=rules.compiled.get(node.path),
        calls=node.calls,
        numbers=node.numbers,
    )
