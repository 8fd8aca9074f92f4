"""The docstring of a text: what it trains, where it came from, how it is started."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from specc import __version__

if TYPE_CHECKING:
    from specc.printing.context import Context


def header_lines(context: Context, run_hash: str) -> list[str]:
    """Lines of the docstring."""
    facts = context.facts
    name, target = facts.program.name, facts.target
    count = sum(p.numel for p in facts.parameters if p.tied_to is None and p.trained)
    axes = " x ".join(f"{axis.name} = {_size(axis.size.text)}" for axis in facts.mesh.axes)
    plugin = f" and {target.plugin.module} 2.7.1" if target.plugin is not None else ""
    needs = "torch 2.7.1, or newer" if not plugin else f"torch 2.7.1{plugin}, or newer"
    return [
        f"{name}: {facts.model.type}, {count:,} parameters, on {axes}.",
        "",
        (
            f"Written by specc {__version__} from {name}.spec "
            f"(target {target.name}, run {run_hash[:12]})."
        ),
        "This text is yours: change it, keep it, license it as you like.",
        f"Needs Python 3.10, {needs}." if plugin else f"Needs Python 3.10 and {needs}.",
        "",
        *_launch(context),
        "",
        *_variables(context),
    ]


def _size(text: str) -> str:
    return text.lower() if text == "WORLD" else text.replace("WORLD", "world").replace("//", "/")


def _launch(context: Context) -> list[str]:
    facts = context.facts
    script = f"{facts.program.name}.py"
    cluster = facts.cluster
    front = "    "
    if cluster is not None and (cluster.nodes or 1) > 1 and facts.mesh.world > (cluster.gpus or 1):
        endpoint = facts.training.endpoint or "HOST:29500"
        return [
            f"On each of {cluster.nodes} nodes, with its own --node-rank:",
            "",
            (
                f"{front}torchrun --nnodes={cluster.nodes} --node-rank=0 "
                f"--nproc-per-node={cluster.gpus} \\"
            ),
            f"        --rdzv-backend=c10d --rdzv-endpoint={endpoint} {script}",
        ]
    ranks = facts.mesh.world
    return [f"{front}torchrun --standalone --nproc-per-node={ranks} {script}"]


def _variables(context: Context) -> list[str]:
    target = context.facts.target
    wanted = [
        f"Set {v.name}={v.value} before it starts, with {target.needs_text(v.needs)}: {v.why}."
        for v in target.variables
    ]
    return [
        line
        for text in [*_files(context), *wanted]
        for line in wrap(text, 96, subsequent_indent="  ")
    ]


def _files(context: Context) -> list[str]:
    lines = ["METRICS=FILE appends one JSON line a step."]
    if context.facts.training.save_every is not None:
        lines = [
            (
                "METRICS=FILE appends one JSON line a step; "
                "RESUME=latest goes on from the last checkpoint."
            )
        ]
    return lines
