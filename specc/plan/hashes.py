"""Four hashes of the facts: of the checkpoint, its placement, the mathematics, the whole run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import attrs

from specc.plan.externs import extern_uses
from specc.plan.flow import body_of, loss_arguments, sizes_of
from specc.plan.tensor import parameter_dim
from specc.program import model
from specc.program.walk import values_of

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Method, Module, Parameter, Precision


@runtime_checkable
class Word(Protocol):
    """A constructor word with settings, or a draw."""

    name: str
    settings: Mapping[str, Any]


@attrs.frozen
class Hashes:
    """SHA-256 of canonical JSON, in hex; 12 digits are shown to people.

    What counts is what holds, never how it was said: not the names of dims, blocks and values, not
    the order of rules, not comments, files or the version of specc.

    Args:
        model: names, shapes and ties of all parameters: whether a checkpoint can be loaded.
        layout: mesh and placements: whether it must be resharded.
        numerics: the model, its start and arithmetic, data, loss and optimizer: whether it is the
            same mathematics.
        run: everything.
    """

    model: str
    layout: str
    numerics: str
    run: str

    @property
    def short(self) -> str:
        """The first digits of the hash of everything."""
        return self.run[:12]


def hashes(facts: Facts) -> Hashes:
    """The four hashes of a run."""
    model, layout, numerics = _model(facts), _layout(facts), _numerics(facts)
    run = [model, layout, numerics, _rest(facts)]
    return Hashes(*(_digest(item) for item in (model, layout, [model, numerics], run)))


def _digest(item: object) -> str:
    return hashlib.sha256(_text(item).encode()).hexdigest()


def _text(item: object) -> str:
    return json.dumps(item, sort_keys=True, separators=(",", ":"))


def canonical(value: object) -> Any:  # noqa: ANN401  any JSON value
    """A setting's value as JSON."""
    if isinstance(value, Word):
        inner = {key: canonical(item) for key, item in value.settings.items()}
        return {"name": value.name, "settings": inner}
    if isinstance(value, tuple):
        return [canonical(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: canonical(item) for key, item in items}
    return value


# ------------------------------------------------------------------------------------ parts


def _model(facts: Facts) -> Any:  # noqa: ANN401
    rows = [[p.name, list(p.sizes), "fp32", p.tied_to, p.trained] for p in facts.parameters]
    return sorted(rows)


def _layout(facts: Facts) -> Any:  # noqa: ANN401
    mesh, layout = facts.mesh, facts.layout
    number = {axis.name: index for index, axis in enumerate(mesh.axes)}
    places = {
        field.name: [
            [number[axis] for axis in layout.axes_of(_only_dim(entry))]
            for entry in field.type.shape
        ]
        for field in facts.training.fields
    }
    store = layout.storage
    return {
        "mesh": [[axis.size.value, axis.stride] for axis in mesh.axes],
        "fields": places,
        "methods": sorted(_method(method, number) for method in layout.methods),
        "sharded": store.kind not in ("ddp", "replicate"),
        "shard": [number[axis] for axis in store.shard],
        "replicate": [number[axis] for axis in store.replicate],
        "duplicate": [number[axis] for axis in layout.duplicate],
        **_tensor(facts, number),
    }


def _tensor(facts: Facts, number: Mapping[str, int]) -> dict[str, Any]:
    """How parameters are split by their dims, and what is split beside them."""
    split = facts.layout.tensor
    if split is None:
        return {}
    dims = {p.name: parameter_dim(p.shape, split) for p in facts.parameters}
    return {
        "split": [number[axis] for axis in split.axes],
        "dims": sorted([name, dim] for name, dim in dims.items() if dim is not None),
        "moves": [
            [module.path, move.kind, move.position]
            for module in facts.model.walk()
            if module.block is not None
            for move in values_of(facts.statements(module.block))
            if isinstance(move, model.Move)
        ],
        "summed": sorted(facts.summed),
    }


def _method(method: Method, number: Mapping[str, int]) -> str:
    """A method with its settings, but those that are names of dims."""
    settings = {key: v for key, v in method.settings.items() if not isinstance(v, str)}
    within = None if method.within is None else sorted(method.within)
    return _text([method.name, [number[axis] for axis in method.axes], settings, within])


def _only_dim(entry: tuple[tuple[object, ...], ...]) -> str:
    first = entry[0][0] if entry and entry[0] else ""
    return first if isinstance(first, str) else ""


def _numerics(facts: Facts) -> Any:  # noqa: ANN401
    training, sizes = facts.training, facts.sizes
    return {
        "parameters": sorted((_start(p) for p in facts.parameters), key=lambda row: row[0]),
        "modules": [_arithmetic(module, sizes) for module in facts.model.walk()],
        "externs": sorted({_path(facts, use.extern) for use in extern_uses(facts)}),
        "fields": [
            [
                f.name,
                f.type.dtype,
                sizes_of(f.type.shape, sizes),
                canonical(training.sources[f.name]),
            ]
            for f in sorted(training.fields, key=lambda field: field.name)
        ],
        "loss": [
            [term.function, loss_arguments(facts, term), canonical(settings), factor]
            for term, settings, factor in zip(
                training.loss, training.loss_settings, training.loss_factors, strict=True
            )
        ],
        "optimizer": canonical(training.optimizer),
        "schedule": canonical(training.schedule),
        # a schedule stretches over the steps
        "steps": training.steps if training.schedule is not None else None,
        "accumulate": training.accumulate,
        "clip": training.clip,
        "seed": training.seed,
        "matmul": training.matmul,
    }


def _path(facts: Facts, extern: str) -> tuple[str, str]:
    """An extern as its uses name it, with what it names in Python."""
    found = facts.program.externs[extern]
    return extern, f"{found.module}:{found.attribute}"


def _start(parameter: Parameter) -> list[Any]:
    return [
        parameter.name,
        canonical(parameter.draw),
        _precision(parameter.precision),
        parameter.frozen,
        sorted([key, canonical(value)] for key, value in parameter.group),
    ]


def _precision(precision: Precision) -> list[str]:
    return [precision.params, precision.compute or precision.params, precision.reduce]


def _arithmetic(module: Module, sizes: Mapping[str, int]) -> list[Any]:
    """What one part computes, whatever its block and values are called."""
    kind = "" if module.block is not None else module.type
    body = body_of(module, sizes, canonical) if module.block is not None else None
    return [module.path, kind, canonical(module.settings), _precision(module.precision), body]


def _rest(facts: Facts) -> Any:  # noqa: ANN401
    """What changes the run and neither its mathematics nor where things lie."""
    training = facts.training
    store = facts.layout.storage
    return {
        "units": sorted(
            [sorted(u.parameters), _precision(u.precision), u.reshard] for u in store.units
        ),
        **_moved(facts),
        "storage": store.kind,
        "recompute": sorted(
            [m.path, sorted(m.recompute.keep)] for m in facts.model.walk() if m.recompute
        ),
        "compile": sorted(
            [m.path, m.compile.mode or "", m.compile.fullgraph, str(m.compile.dynamic)]
            for m in facts.model.walk()
            if m.compile
        ),
        "target": facts.target.name,
        "training": [
            training.steps,
            training.deterministic,
            training.log_every,
            training.log_warmup,
            training.save_every,
            training.save_dir,
            training.save_keep,
            training.evaluate_every,
            training.evaluate_batches,
            training.endpoint,
            training.timeout_s,
        ],
    }


def _moved(facts: Facts) -> dict[str, Any]:
    """What lies in the memory of the host."""
    offload = facts.layout.offload
    if offload is None or not (offload.state or offload.parameters):
        return {}
    return {"offload": [sorted(offload.parameters), offload.state]}
