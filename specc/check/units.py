"""Where parameters lie, and the units in which they are gathered and reduced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from specc.check.selectors import spelled
from specc.plan.facts import Precision, Storage, Unit
from specc.program import model as program_model

if TYPE_CHECKING:
    from specc.check.layout import StorageRule
    from specc.check.modules import Node
    from specc.check.selectors import Tree
    from specc.check.ties import Tied
    from specc.check.verbs import Precisions
    from specc.plan.facts import Mesh, TensorSplit
    from specc.source import Span

PLAIN = Precision()


@attrs.define
class Group:
    """A unit in the making: parts whose parameters are gathered together, and these parameters."""

    parts: list[str]
    tensors: list[str]
    reshard: bool | None
    span: Span | None


def storage(
    rule: StorageRule | None,
    mesh: Mesh,
    model: Tree,
    dtypes: Precisions,
    ties: Tied,
    tensor: TensorSplit | None = None,
    host: frozenset[str] = frozenset(),
) -> Storage:
    """Storage of a layout, over the axes that do not split parameters by their dims.

    Without a rule every rank holds everything: in fp32 with DDP, in anything lower, where
    parameters are split by their dims, and where they lie on the host, with FSDP2 over a mesh
    (n, 1). With a rule, every axis that it does not name holds copies, so gradients are also summed
    over axes that split data but not storage.

    Args:
        host: names of parameters that lie on the host.
    """
    apart = tensor.axes if tensor is not None else ()
    order = [axis.name for axis in mesh.axes if axis.name not in apart]
    owned = [name for name in model.tensors if name not in ties.to]
    trained = [name for name in owned if model.tensors[name].parameter.trained]
    plain = all(_kind(name, dtypes) == ("fp32", "fp32") for name in trained)
    if rule is None and plain and tensor is None and not host:
        return Storage("ddp", (), tuple(order), (), None)
    shard = rule.axes if rule is not None else ()
    replicate = tuple(name for name in order if name not in shard)
    kind = rule.kind if rule is not None else "replicate"
    parts = rule.units if rule is not None else frozenset(_elements(model.root))
    keep_whole = kind in ("grads", "optim")
    reshard = not keep_whole and (bool(host) if rule is None else rule.reshard is not False)
    groups = _groups(parts, trained, model, rule, reshard=reshard)
    groups = [g for g in _join_ties(groups, model, ties) if g.tensors or g.parts == [""]]
    units = (unit for group in groups for unit in _by_precision(group, model, dtypes))
    units = tuple(
        attrs.evolve(unit, on_host=bool(host.intersection(unit.parameters))) for unit in units
    )
    return Storage(kind, shard, replicate, units, rule.span if rule is not None else None)


def _elements(node: Node) -> Iterator[str]:
    """Elements of the outermost lists: the units of a model that no rule cuts."""
    for child in node.children:
        if isinstance(child.what, program_model.PartList):
            yield from (element.path for element in child.children)
        elif child.block is not None or isinstance(child.what, program_model.Chain):
            yield from _elements(child)


def _groups(
    parts: frozenset[str],
    tensors: list[str],
    model: Tree,
    rule: StorageRule | None,
    *,
    reshard: bool,
) -> list[Group]:
    """One group for each part, inner ones first, the root last; a tensor is in the innermost."""
    span = rule.span if rule is not None else None
    order = {path: index for index, path in enumerate(model.parts)}
    inner_first = sorted((p for p in parts if p), key=lambda p: (-p.count("."), order[p]))
    groups = {path: Group([path], [], reshard, span) for path in inner_first}
    groups[""] = Group([""], [], None, span)
    for name in tensors:
        groups[_innermost(model.owners[name], groups)].tensors.append(name)
    return list(groups.values())


def _innermost(path: str, groups: Mapping[str, Group]) -> str:
    while path and path not in groups:
        path = path.rpartition(".")[0]
    return path


def _join_ties(groups: list[Group], model: Tree, ties: Tied) -> list[Group]:
    """Both sides of a tie are gathered together, so their units are one."""
    for left, right in ties.to.items():
        here = _group_of_part(groups, model.owners[left])
        there = next((group for group in groups if right in group.tensors), None)
        if there is None or here is there:
            continue
        if here.parts == [""] or there.parts == [""]:
            root, other = (here, there) if here.parts == [""] else (there, here)
            _move(root, other, model.owners[left if root is here else right], model)
        else:
            there.parts.extend(here.parts)
            there.tensors.extend(here.tensors)
            groups = [group for group in groups if group is not here]
    return groups


def _group_of_part(groups: list[Group], path: str) -> Group:
    by_part = {part: group for group in groups for part in group.parts}
    while path and path not in by_part:
        path = path.rpartition(".")[0]
    return by_part[path]


def _move(root: Group, other: Group, path: str, model: Tree) -> None:
    """The part of the root that holds one side of a tie joins the unit of the other side."""
    moved = model.tensors_of([path])
    other.parts.append(path)
    other.tensors.extend(name for name in root.tensors if name in moved)
    root.tensors = [name for name in root.tensors if name not in moved]


# --------------------------------------------------------------------------------- precision


def _by_precision(group: Group, model: Tree, dtypes: Precisions) -> Iterator[Unit]:
    """The unit, after one more unit for each precision inside it that is not its own."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for name in group.tensors:
        kinds.setdefault(_kind(name, dtypes), []).append(name)
    own = dtypes.parts[group.parts[0]]
    main = (own.params, own.reduce)
    if kinds and main not in kinds:
        main = max(kinds, key=lambda kind: sum(_numel(model, name) for name in kinds[kind]))
    for kind, names in kinds.items():
        if kind != main:
            parts = _islands(names, group, model)
            reshard = True if group.reshard is None else group.reshard
            yield Unit(parts, tuple(names), Precision(kind[0], None, kind[1]), reshard, group.span)
    unit = Precision(main[0], None, main[1])
    yield Unit(tuple(group.parts), tuple(kinds.get(main, ())), unit, group.reshard, group.span)


def _numel(model: Tree, name: str) -> int:
    count = 1
    for size in model.tensors[name].sizes:
        count *= size
    return count


def _islands(names: list[str], group: Group, model: Tree) -> tuple[str, ...]:
    """The largest parts that hold these tensors of a group and no other tensor of it."""
    wanted, held = set(names), set(group.tensors)
    parts: list[str] = []
    for name in names:
        path = model.owners[name]
        if any(path == part or path.startswith(f"{part}.") for part in parts):
            continue
        while path not in group.parts:
            parent = path.rpartition(".")[0]
            if parent in group.parts or (model.tensors_of([parent]) & held) - wanted:
                break
            path = parent
        parts.append(path)
    return tuple(dict.fromkeys(parts))


def check_islands(store: Storage, model: Tree, dtypes: Precisions, ties: Tied) -> None:
    """Report tensors whose precision differs from that of the other tensors of the same part."""
    for left, right in ties.to.items():
        if _kind(left, dtypes) != _kind(right, dtypes):
            model.report.error(
                "E0407",
                ties.spans[left],
                f"`{left}` is tied to `{right}`, and rules give them different precisions",
                "one tensor",
                notes=[f"{left}: {_shown(left, dtypes)}; {right}: {_shown(right, dtypes)}"],
                helps=["select both in the same rule"],
            )
    if store.kind == "ddp":
        return
    for path, node in model.parts.items():
        kinds = {_kind(t.name, dtypes) for t in node.tensors if t.parameter.trained}
        lone = node.is_tensor and _differs_from_parent(path, dtypes)
        if len(kinds) < 2 and not lone:
            continue
        span = node.what.span if node.what is not None else None
        model.report.error(
            "E0494",
            span,
            f"one tensor of `{spelled(path)}` has a precision of its own; this version of specc "
            "can give one to whole parts only",
            "not built yet",
            helps=["put it into a block of its own, or give the whole part that precision"],
        )


def _kind(name: str, dtypes: Precisions) -> tuple[str, str]:
    return dtypes.tensors[name].params, dtypes.tensors[name].reduce


def _shown(name: str, dtypes: Precisions) -> str:
    return "params {}, reduce {}".format(*_kind(name, dtypes))


def _differs_from_parent(path: str, dtypes: Precisions) -> bool:
    parent = dtypes.parts[path.rpartition(".")[0]]
    return (parent.params, parent.reduce) != _kind(path, dtypes)
