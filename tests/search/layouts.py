"""A random mesh and a random layout for a model: rules over all axes that the language has."""

from __future__ import annotations

from random import Random

import attrs

from tests.search.aims import Aim
from tests.search.models import Model

NAMES = {"plain": ("dp",), "nested": ("dp",), "two": ("rep", "dp"), None: ()}


@attrs.frozen
class Axis:
    """An axis of the mesh: its name, and the names of those inside it."""

    name: str
    inside: tuple[str, ...] = ()

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.inside or (self.name,)


def draw_axes(rng: Random, aim: Aim) -> tuple[Axis, ...]:
    """The axes of the aim, in any order."""
    axes = [Axis(name, ("rep", "fsdp") if aim.data == "nested" else ()) for name in NAMES[aim.data]]
    if aim.context is not None:
        axes.append(Axis("cp", ("r", "u") if aim.context == "nested" else ()))
    if aim.tensors:
        axes.append(Axis("tp"))
    if aim.copies or not axes:
        axes.append(Axis("same"))
    rng.shuffle(axes)
    return tuple(axes)


def draw_mesh(rng: Random, axes: tuple[Axis, ...]) -> str:
    """The mesh with sizes of its own, at most one of them open."""
    open_axis = rng.choice([None, *axes])
    if len(axes) == 1 and open_axis is not None and not axes[0].inside:
        return f"mesh {{ {axes[0].name} = world }}"
    shown = [_axis(rng, axis, is_open=axis is open_axis) for axis in axes]
    if len(shown) < 3 and rng.random() < 0.5:
        return f"mesh {{ {', '.join(shown)} }}"
    return "\n".join(["mesh {", *(f"  {each}" for each in shown), "}"])


def _axis(rng: Random, axis: Axis, *, is_open: bool) -> str:
    if not axis.inside:
        return f"{axis.name} = {'rest' if is_open else rng.choice((1, 1, 2))}"
    sizes = [rng.choice((1, 2)) for _ in axis.inside]
    total = 1
    for size in sizes:
        total *= size
    written = [str(size) for size in sizes]
    if is_open:
        written[rng.randrange(len(written))] = "rest"
    inside = ", ".join(f"{n} = {s}" for n, s in zip(axis.inside, written, strict=True))
    return f"{axis.name} = {'rest' if is_open else total} {{ {inside} }}"


def draw_layout(rng: Random, aim: Aim, axes: tuple[Axis, ...], model: Model) -> str:
    """Rules in any order."""
    rules = [*_data(rng, aim), *_context(rng, aim, model), *_others(rng, aim)]
    if rng.random() < 0.75 and (aim.data or aim.context):
        rules.append(_storage(rng, axes, model))
    rules += _recompute(rng, aim, model)
    rng.shuffle(rules)
    return "\n".join(["layout {", *(f"  {rule}" for rule in rules), "}"])


def _data(rng: Random, aim: Aim) -> list[str]:
    if aim.data == "two":
        return ["rep*dp: shard B"] if rng.random() < 0.4 else ["rep: shard B", "dp: shard B"]
    if aim.data == "nested" and rng.random() < 0.2:
        return ["rep: shard B", "fsdp: shard B"]
    return ["dp: shard B"] if aim.data else []


def _context(rng: Random, aim: Aim, model: Model) -> list[str]:
    copies = "ulysses(heads, repeat_kv = true)"
    match aim.context:
        case None:
            return []
        case "plain":
            return ["cp: shard S"]
        case "nested":
            ways = [
                ["cp: shard S via ulysses(heads)"],
                ["cp: shard S via ring"],
                ["r: shard S via ring", f"u: shard S via {copies}"],
            ]
            return rng.choice(ways)
        case "mixed":
            count = model.lists["blocks"]
            if count < 2:
                return ["cp: shard S via ring"]
            return [
                f"cp: shard S via {copies} within blocks[0]",
                f"cp: shard S via ring within blocks[1..{count}]",
            ]
        case method:
            written = {
                "ulysses": "ulysses(heads)",
                "copies": copies,
                "ring": "ring",
                "zigzag": "ring(zigzag = true)",
            }
            return [f"cp: shard S via {written[method]}"]


def _others(rng: Random, aim: Aim) -> list[str]:
    rules: list[str] = []
    if aim.tensors:
        rules.append(f"tp: shard {', '.join(aim.tensors)}{' else S' if aim.otherwise else ''}")
    if aim.copies or (aim.data is None and aim.context is None and not aim.tensors):
        rules.append("same: replicate")
    return rules


def _storage(rng: Random, axes: tuple[Axis, ...], model: Model) -> str:
    """Parameters, gradients or optimizer state over some axes, in units or in one."""
    names = [name for axis in axes for name in axis.leaves if name not in ("same", "tp")]
    names = names or [name for axis in axes for name in axis.leaves]
    chosen = rng.sample(names, rng.randint(1, len(names)))
    for axis in axes:  # an axis by its own name, where all of it is meant
        if axis.inside and set(axis.inside) <= set(chosen) and rng.random() < 0.7:
            chosen = [axis.name, *(name for name in chosen if name not in axis.inside)]
    kind = rng.choice(("params", "params", "params", "grads", "optim"))
    rule = f"{'*'.join(chosen)}: shard {kind}"
    units = [block.name for block in model.parts_inside()] + list(model.paths)
    if "chunk" in model.loss:  # refused: its unit would be gathered for every chunk
        units = [name for name in units if name not in ("embed", "head")]
    if units and rng.random() < 0.8:
        rule += f" per {', '.join(rng.sample(units, rng.randint(1, min(2, len(units)))))}"
    if kind == "params" and rng.random() < 0.25:
        rule += f" {{ reshard_after_forward = {rng.choice(('true', 'false'))} }}"
    return rule


def _recompute(rng: Random, aim: Aim, model: Model) -> list[str]:
    """Some blocks, or none.

    No kept values where attention exchanges: the plan does not count what is done again there.
    """
    block = rng.choice(model.blocks)
    way = rng.randrange(6)
    if way == 0:
        return [f"recompute each {block.name}"]
    if way == 1 and block.kept:
        kept = rng.sample(block.kept, rng.randint(1, min(2, len(block.kept))))
        return [f"recompute each {block.name} {{ keep = [{', '.join(kept)}] }}"]
    if way == 2:
        name = rng.choice(sorted(model.lists))
        return [f"recompute {name}[{rng.randrange(model.lists[name])}]"]
    return []
