"""The job file that starts an emitted script under Slurm."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from specc import __version__
from specc.diagnostics import SpeccError
from specc.diagnostics.display import harmless
from specc.plan.hashes import hashes
from specc.resources import template_text
from specc.targets import UNKNOWN

if TYPE_CHECKING:
    from specc.plan.facts import Facts

PORT = "29500"  # torchrun's own default


def slurm_job(facts: Facts, script: str) -> str:
    """The sbatch file for a script: one torchrun on each node, which starts a rank for each device.

    Args:
        script: path of the emitted script, as seen from the folder of submission.

    Raises:
        SpeccError: the ranks do not fill the nodes of the cluster.
    """
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  only a job file needs it

    environment = Environment(  # noqa: S701  a shell script, no HTML
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(template_text("launch/slurm.sh.j2"))
    nodes, ranks = _division(facts)
    endpoint = facts.training.endpoint or ""
    return template.render(
        name=harmless(facts.program.name),
        job=shlex.quote(facts.program.name),
        version=__version__,
        target=facts.target.name,
        run=hashes(facts).short,
        nodes=nodes,
        ranks=ranks,
        needs_gpus=facts.target.binds_device,
        port=endpoint.rpartition(":")[2] or PORT,
        variables=facts.target.environment(UNKNOWN),
        script=shlex.quote(script),
    )


def _division(facts: Facts) -> tuple[int, int]:
    """Nodes, and ranks on each of them."""
    world = facts.mesh.world
    per_node = facts.cluster.gpus if facts.cluster is not None else None
    if per_node is None or world <= per_node:
        return 1, world
    if world % per_node:
        raise SpeccError(
            f"{world} ranks do not fill nodes of {per_node} devices: give a multiple as --world",
            exit_code=2,
        )
    return world // per_node, per_node
