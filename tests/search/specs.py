"""A whole random spec from a seed: the same text for the same seed, on every machine."""

from __future__ import annotations

import re
from random import Random

import attrs

from specc.syntax.format import format_text
from tests.search.aims import Aim, draw_aim
from tests.search.layouts import draw_axes, draw_layout, draw_mesh
from tests.search.models import Model, Writer

STEPS = 3
EXACT = "eps = 1e-4"  # Adam divides by gradients near zero and so amplifies rounding: not by these
SCHEDULES = (
    "cosine(warmup = 2, final = 0.1)",
    "linear(final = 0.5)",
    "constant(warmup = 2)",
    "inverse_sqrt(warmup = 1)",
)


def draw_spec(seed: int) -> str:
    """The text of a spec, formatted."""
    rng = Random(seed)  # noqa: S311  the same texts every time
    aim = draw_aim(rng)
    model = Writer(rng, aim).write()
    words = set(re.findall(r"\w+", " ".join([model.text, *(block.text for block in model.blocks)])))
    aim = attrs.evolve(aim, tensors=tuple(dim for dim in aim.tensors if dim in words))
    if aim.context and not any(block.has_attention for block in model.blocks):
        aim = attrs.evolve(aim, context="plain")
    axes = draw_axes(rng, aim)
    pieces = [
        *(block.text for block in model.blocks),
        model.text,
        draw_mesh(rng, axes),
        draw_layout(rng, aim, axes, model),
        _training(rng, model),
    ]
    body = "\n\n".join(pieces)
    return format_text(f"specc 1\n\n{_dims(rng, aim, body)}\n\n{body}\n")


def _dims(rng: Random, aim: Aim, body: str) -> str:
    """The dims that a text uses, and their sizes."""
    words = set(re.findall(r"\w+", body))
    sizes = {name: f"{size}" for name, size in aim.sizes.items() if name in words | {"B", "d"}}
    if "ff" in sizes and rng.random() < 0.3:
        sizes["ff"] = "3*d"
    if {"heads", "hd"} <= sizes.keys() and rng.random() < 0.3:
        sizes["d"] = "heads*hd"
    axis = next((name for name in ("dp", "cp") if re.search(rf"\b{name} = ", body)), None)
    if axis == "dp" and rng.random() < 0.15:
        sizes["B"] = f"{rng.choice((4, 6, 8))}*dp"
    return "\n".join(f"dim {name} = {size}" for name, size in sizes.items())


def _training(rng: Random, model: Model) -> str:
    optimizer, settings = rng.choice(
        (
            ("SGD(lr = 0.05)", ("weight_decay = 0.1", "lr = 0.01")),
            ("SGD(lr = 0.05, momentum = 0.9)", ("momentum = 0.5",)),
            ("SGD(lr = 0.02, momentum = 0.9, nesterov = true)", ("lr = 0.1",)),
            (f"AdamW(lr = 1e-3, {EXACT})", ("weight_decay = 0", "lr = 1e-2")),
            (
                f"AdamW(lr = 1e-2, betas = [0.8, 0.9], weight_decay = 0.2, {EXACT})",
                ("betas = [0.5, 0.5]",),
            ),
            (f"AdamW(lr = 1e-3, decay = matrices, {EXACT})", ("weight_decay = 0.5",)),
        )
    )
    lines = ["  data {", *(f"    {field}" for field in model.data), "  }"]
    lines += [f"  loss = {model.loss}", f"  optimizer = {optimizer}"]
    lines += [f"  {rule}" for rule in _rules(rng, model, settings)]
    if rng.random() < 0.25:
        lines.append(f"  schedule = {rng.choice(SCHEDULES)}")
    if rng.random() < 0.5:
        lines.append(f"  clip = {rng.choice(('0.05', '0.5', '1.0', '100.0'))}")
    lines.append(f"  accumulate = {rng.choice((1, 1, 2, 3))}")
    lines.append(f"  steps = {STEPS}")
    if rng.random() < 0.3:
        lines.append(f"  seed = {rng.randrange(100)}")
    return "\n".join(["train {", *lines, "}"])


def _rules(rng: Random, model: Model, settings: tuple[str, ...]) -> list[str]:
    """Groups of the optimizer, frozen parts, draws of weights."""
    rules: list[str] = []
    kinds = sorted(model.kinds - {"Param"})
    if rng.random() < 0.35 and kinds:
        chosen = rng.sample(kinds, rng.randint(1, min(2, len(kinds))))
        named = ", ".join(f"each {kind}" for kind in chosen)
        rules.append(f"optimize {named} {{ {rng.choice(settings)} }}")
    if rng.random() < 0.2:
        rules.append(f"optimize {rng.choice(_frozen(model))} {{ frozen = true }}")
    if rng.random() < (0.02 if "tie " in model.text else 0.3):
        drawn = rng.choice(("normal = 0.1", "uniform = 0.2", "xavier_uniform = 1"))
        rules.append(f"init each Linear.weight {{ {drawn} }}")
    if rng.random() < 0.15 and "Linear.bias" in kinds:
        rules.append("init each Linear.bias { constant = 0.1 }")
    return rules


def _frozen(model: Model) -> list[str]:
    """Selectors of what may stay as it is: never all of the model."""
    lists = [f"{name}[0]" for name in sorted(model.lists)]
    return [*(path for path in model.paths if path not in model.lists), *lists]
