"""A Plan as people read it: mesh, sizes, units, hashes, every parameter, every collective."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.memory import needed
from specc.plan.collective import DTYPE_BYTES
from specc.plan.collectives import collectives
from specc.plan.hashes import hashes
from specc.plan.memory import host_memory, ranks_of_node
from specc.plan.tensor import axes_in
from specc.program.dims import show_shape, size
from specc.report.folding import Fold, folded
from specc.report.notation import local_text, parameter_shape, value_shape
from specc.report.quantities import bytes_text, sizes_text, table
from specc.report.settings import constructor_text, setting_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import Axis, Facts, Parameter, Recompute, Unit
    from specc.plan.memory import Memory
    from specc.program.program import Field
    from specc.vocabulary.record import Constructor

Row = tuple[str, str]


def plan_text(facts: Facts) -> str:
    """The whole Plan; ends in a line end."""
    rows = [
        *_mesh(facts),
        *_sizes(facts),
        *_stored(facts),
        *_inputs(facts),
        *_split(facts),
        *_methods(facts),
        *_units(facts),
        *_rules(facts),
        *_training(facts),
        *_hashes(facts),
    ]
    lines = [_head(facts), *_aligned(rows), "", *_parameters(facts), *_collectives(facts)]
    return "\n".join(lines) + "\n"


def _head(facts: Facts) -> str:
    situation = facts.situation
    words = [f"{facts.program.name}.spec", f"target {facts.target.name}"]
    words.append(f"world {facts.mesh.world}")
    if situation.profile:
        words.append(f"profile {situation.profile}")
    words += [f"layout {facts.layout.name or 'default'}", f"plan {hashes(facts).short}"]
    return "  ".join(words)


def _aligned(rows: list[Row]) -> list[str]:
    """Rows with their words once: a row of the same word as above continues it."""
    width = max(len(word) for word, _ in rows)
    lines: list[str] = []
    before = ""
    for word, text in rows:
        shown = "" if word == before else word
        lines.append(f"  {shown:{width}}  {text}".rstrip())
        before = word
    return lines


# ---------------------------------------------------------------------------------------- rows


def _mesh(facts: Facts) -> Iterator[Row]:
    mesh = facts.mesh
    if not mesh.axes:
        yield "mesh", "none: one rank"
        return
    axes = " x ".join(f"{axis.name}={axis.size.value}" for axis in mesh.axes)
    cluster = f" on {facts.cluster.name}" if facts.cluster is not None else ""
    is_open = "  (any world that fits)" if mesh.world_is_open else ""
    yield "mesh", f"{axes}{cluster}{is_open}"
    for axis in mesh.axes if len(mesh.axes) > 1 else ():
        yield "mesh", f"{axis.name}: {_group(axis, facts)}"


def _group(axis: Axis, facts: Facts) -> str:
    """Which ranks make the first group of an axis, and whether they share a node."""
    ranks = [axis.stride * index for index in range(axis.size.value)]
    shown = ", ".join(str(rank) for rank in (ranks if len(ranks) <= 8 else ranks[:4]))
    more = f", .. {ranks[-1]}" if len(ranks) > 8 else ""
    per_node = facts.cluster.gpus if facts.cluster is not None else None
    where = ""
    if per_node and facts.mesh.world > per_node:
        nodes = len({rank // per_node for rank in ranks})
        where = ", inside a node" if nodes == 1 else f", over {nodes} nodes"
    return f"ranks {shown}{more}{where}"


def _sizes(facts: Facts) -> Iterator[Row]:
    line = ""
    for name, found in facts.dims.items():
        word = f"{name}={found.value}"
        if len(line) + len(word) > 80:
            yield "sizes", line
            line = ""
        line = f"{line}  {word}" if line else word
    yield "sizes", line


def _stored(facts: Facts) -> Iterator[Row]:
    own = [p for p in facts.parameters if p.tied_to is None]
    trained = sum(p.numel for p in own if p.trained)
    buffers = sum(p.numel for p in own if not p.trained)
    more = f", and {buffers:,} elements of buffers" if buffers else ""
    yield "parameters", f"{trained:,} in {len(own)} tensors{more}"
    yield "stored", f"fp32, {_storage(facts)}"
    need = needed(facts)
    gathered = f", gathered units {bytes_text(need.gathered)}" if need.gathered else ""
    listed = f"{_pieces(facts, need.held)}{gathered}"
    yield "memory", f"{bytes_text(need.total)} a rank before activations: {listed}"
    yield from _host(facts)


def _pieces(facts: Facts, held: Memory) -> str:
    pieces = {
        "weights": held.weights,
        "gradients": held.gradients,
        facts.training.optimizer.name: held.optimizer,
    }
    return ", ".join(f"{name} {bytes_text(size)}" for name, size in pieces.items())


def _host(facts: Facts) -> Iterator[Row]:
    """What lies in the memory of the host, on each rank and each node."""
    offload = facts.layout.offload
    if offload is None:
        return
    held, ranks = host_memory(facts), ranks_of_node(facts)
    if not held.total:
        yield "host", f"nothing is moved: on {facts.target.name} the device is the host"
        return
    node = f", {bytes_text(held.total * ranks)} a node" if ranks is not None else ""
    limit = facts.cluster.host_bytes if facts.cluster is not None else None
    there = f" of {bytes_text(limit)}" if node and limit is not None else ""
    what = _pieces(facts, held)
    yield "host", f"{bytes_text(held.total)} a rank{node}{there}: {what}"
    if offload.state:
        name = facts.training.optimizer.name
        yield "host", f"{name} steps there, on copies of weights and gradients"


def _storage(facts: Facts) -> str:
    store = facts.layout.storage
    ways = facts.mesh.degree(store.shard)
    copies = facts.mesh.degree(store.replicate)
    match store.kind:
        case "ddp":
            return "whole on every rank (DDP)"
        case "replicate":
            return "whole on every rank (FSDP2 with one shard)"
        case kind:
            what = {
                "params": "weights, gradients and optimizer state",
                "grads": "gathered weights stay until the step ends; gradients",
                "optim": "gathered weights and gradients stay until the step ends; optimizer state",
            }[kind]
            held = f", {copies} copies over {'*'.join(store.replicate)}" if copies > 1 else ""
            return f"{what} split {ways} ways over {'*'.join(store.shard)}{held} (FSDP2)"


def _inputs(facts: Facts) -> Iterator[Row]:
    """A line for each source and type: `ids, labels: i64[B/dp, S/cp] = [1, 16384]  from ..`."""
    lines: dict[tuple[object, ...], list[Field]] = {}
    for field in facts.training.fields:
        lines.setdefault((field.group, field.type), []).append(field)
    for fields in lines.values():
        kind = fields[0].type
        names = ", ".join(field.name for field in fields)
        sizes = tuple(
            size(entry, facts.sizes) // facts.mesh.degree(axes)
            for entry, axes in zip(kind.shape, axes_in(kind, facts.layout), strict=True)
        )
        dtype = "fp32" if kind.dtype == "float" else kind.dtype
        shape = f"{dtype}{value_shape(facts, kind)} = {sizes_text(sizes)}"
        yield "data", f"{names}: {shape}  from {constructor_text(_source(facts, fields[0]))}"


def _source(facts: Facts, field: Field) -> Constructor:
    return facts.training.sources[field.name]


def _split(facts: Facts) -> Iterator[Row]:
    """`tp: heads, ff of parameters and values, S of other values; 3 gradients summed`."""
    split = facts.layout.tensor
    if split is None:
        return
    rest = f", {split.otherwise} of other values" if split.otherwise is not None else ""
    summed = f"; gradients of {len(facts.summed)} whole parameters summed" if facts.summed else ""
    dims = ", ".join(split.dims)
    yield "split", f"{'*'.join(split.axes)}: {dims} of parameters and values{rest}{summed}"


def _methods(facts: Facts) -> Iterator[Row]:
    for method in facts.layout.methods:
        settings = ", ".join(
            value if isinstance(value, str) else f"{name} = {setting_text(value)}"
            for name, value in method.settings.items()
            if value is not False
        )
        axes = "*".join(method.axes)
        yield "methods", f"{axes}: {method.name}({settings}) where {method.dim} must be whole"


def _units(facts: Facts) -> Iterator[Row]:
    numel = {p.name: p.numel for p in facts.parameters}
    groups: dict[tuple[object, ...], list[Unit]] = {}
    types = {m.path: m.type for m in facts.model.walk()}
    for unit in facts.layout.storage.units:
        elements = sum(numel[name] for name in unit.parameters)
        names = [types[path] or path for path in unit.modules]
        kind = "the rest" if unit.modules == ("",) else " + ".join(names)
        key = (kind, elements, unit.precision, unit.reshard, unit.on_host)
        groups.setdefault(key, []).append(unit)
    for key, units in groups.items():
        yield "units", _unit(str(key[0]), units, numel)


def _unit(kind: str, units: list[Unit], numel: dict[str, int]) -> str:
    unit = units[0]
    elements = sum(numel[name] for name in unit.parameters)
    params, reduce = unit.precision.params, unit.precision.reduce
    count = f"{len(units)} x {kind}" if len(units) > 1 else kind
    kept = {True: ", freed after forward", False: ", kept after forward", None: ""}[unit.reshard]
    gathered = f"gathered as {params} {bytes_text(elements * DTYPE_BYTES[params])}"
    reduced = f"reduced as {reduce} {bytes_text(elements * DTYPE_BYTES[reduce])}"
    host = ", on the host" if unit.on_host else ""
    return f"{count}: {elements:,} parameters{host}, {gathered}, {reduced}{kept}"


def _rules(facts: Facts) -> Iterator[Row]:
    """Recompute and compile rules, folded over lists."""
    modules = {m.path: m for m in facts.model.walk()}
    again = [path for path, m in modules.items() if m.recompute is not None]
    for fold in folded(facts.model, again, lambda path: _kept(modules[path].recompute)):
        yield "recompute", f"{_counted(fold)}{_kept(modules[fold.paths[0]].recompute)}"
    compiled = [path for path, m in modules.items() if m.compile is not None]
    for fold in folded(facts.model, compiled, lambda path: str(modules[path].compile)):
        rule = modules[fold.paths[0]].compile
        assert rule is not None
        yield "compile", f"{_counted(fold)}, mode {rule.mode or 'default'}"


def _kept(recompute: Recompute | None) -> str:
    return f", keeping {', '.join(recompute.keep)}" if recompute and recompute.keep else ""


def _counted(fold: Fold) -> str:
    pattern = fold.pattern or "the model"
    return pattern if len(fold.paths) == 1 else f"{pattern} ({len(fold.paths)})"


def _training(facts: Facts) -> Iterator[Row]:
    training = facts.training
    terms = [_term(facts, number) for number in range(len(training.loss))]
    yield "loss", " + ".join(terms)
    yield "optimizer", constructor_text(training.optimizer)
    if training.schedule is not None:
        yield "schedule", constructor_text(training.schedule)
    words = [f"{training.steps:,} steps", f"accumulate {training.accumulate}"]
    words += [f"clip {training.clip:g}"] if training.clip is not None else []
    words += [f"seed {training.seed}", f"matmul {training.matmul}"]
    yield "training", ", ".join(words)


def _term(facts: Facts, number: int) -> str:
    term = facts.training.loss[number]
    factor = facts.training.loss_factors[number]
    front = f"{factor:g} * " if factor != 1 else ""
    return f"{front}{term.function}({', '.join(term.arguments)})"


def _hashes(facts: Facts) -> Iterator[Row]:
    found = hashes(facts)
    words = ("model", "layout", "numerics", "run")
    yield "hashes", "  ".join(f"{word} {getattr(found, word)[:12]}" for word in words)


# ---------------------------------------------------------------------------------- parameters


def _parameters(facts: Facts) -> list[str]:
    by_name = {p.name: p for p in facts.parameters}

    def key(name: str) -> tuple[object, ...]:
        parameter = by_name[name]
        return (parameter.sizes, parameter.precision, parameter.frozen, parameter.group)

    head = ("parameter", "", "shape", "whole", "on rank 0", "computes in", "")
    folds = folded(facts.model, by_name, key)
    rows = [_parameter(facts, fold, by_name[fold.paths[0]]) for fold in folds]
    return table([head, *rows])


def _collectives(facts: Facts) -> list[str]:
    """What one step communicates; nothing on one rank."""
    found = collectives(facts)
    if not found:
        return []
    head = ("collective", "over", "dtype", "a call", "calls", "in all", "for", "")
    rows: list[tuple[str, ...]] = [head]
    total = 0
    for one in found:
        whole = one.bytes * max(one.count, 1)
        total += whole
        calls = str(one.count) if one.count else "in pieces"
        place = one.rule.place if one.rule is not None else ""
        over = "*".join(one.axes)
        sizes = (bytes_text(one.bytes), calls, bytes_text(whole))
        rows.append((one.kind, over, one.dtype, *sizes, one.cause, place))
    rows.append(("one step", "", "", "", "", bytes_text(total), "", ""))
    return ["", *table(rows, numbers=(3, 4, 5))]


def _parameter(facts: Facts, fold: Fold, parameter: Parameter) -> tuple[str, ...]:
    count = f"x {len(fold.paths)}" if len(fold.paths) > 1 else ""
    notes: list[str] = []
    if parameter.tied_to is not None:
        notes.append(f"is {parameter.tied_to}")
    if parameter.frozen:
        notes.append("frozen")
    if not parameter.trained:
        notes.append("buffer")
    notes += [f"{name} = {setting_text(value)}" for name, value in parameter.group]
    shape = parameter_shape(facts, parameter) if parameter.shape else show_shape(parameter.shape)
    return (
        fold.pattern,
        count,
        shape,
        sizes_text(parameter.sizes),
        local_text(facts, parameter),
        parameter.precision.compute or parameter.precision.params,
        ", ".join(notes),
    )
