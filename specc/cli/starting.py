"""Starts local ranks: how many, whether this machine can hold them, and what it lacks."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from specc.check.memory import needed
from specc.diagnostics import SpeccError
from specc.targets import UNKNOWN

if TYPE_CHECKING:
    from specc.check.checked import Checked
    from specc.cli.environment import Environment
    from specc.plan.facts import Facts
    from specc.runtime.machine import Machine


def with_ranks(spec: Checked, *, trains: bool) -> Checked:
    """The spec for the ranks that this machine starts, where neither person nor spec says how many.

    A rank for each device; on a CPU, the smallest world in which all rules act, also where the
    spec is meant for a cluster: this machine is not it.

    Args:
        trains: whether ranks are started; lines to copy need no device on this machine.
    """
    facts = spec.facts()
    worlds = spec.worlds()
    if len(worlds) < 2:
        return spec
    if not facts.target.binds_device:
        return spec if facts.mesh.world == worlds[0] else spec.in_world(worlds[0])
    try:
        devices = machine_of(facts).devices
    except SpeccError:
        if trains:
            raise
        devices = 0
    return spec.in_world(devices) if devices else spec


def refuse_crowd(facts: Facts) -> None:
    """Go on only if this machine can hold all ranks.

    Raises:
        SpeccError: it cannot; with the way out.
    """
    from specc.runtime.machine import why_not  # noqa: PLC0415  runtime is reached late

    machine = machine_of(facts)
    if not machine.devices:
        name = facts.target.name
        raise SpeccError(f"target {name}: no device is here; `specc doctor --target {name}` looks")
    reason = why_not(facts.mesh.world, needed(facts).total, machine)
    if reason is not None:
        raise SpeccError(reason)


def machine_of(facts: Facts) -> Machine:
    """This machine, as ranks on the target see it.

    Raises:
        SpeccError: what the target needs cannot be imported.
    """
    from specc.runtime.machine import local_machine  # noqa: PLC0415
    from specc.runtime.symptoms import explain  # noqa: PLC0415

    target = facts.target
    try:
        return local_machine(target.device)
    except (ImportError, RuntimeError, OSError) as error:
        symptom = explain(f"{error}", target.device)
        what = f"{error}\n{symptom}" if symptom else f"{error}"
        way = f"`specc doctor --target {target.name}` looks at all of it"
        raise SpeccError(f"target {target.name} cannot be used here: {what}\n{way}") from None


def start(verb: str, args: argparse.Namespace, facts: Facts, env: dict[str, str]) -> int:
    """Run a verb again in as many local processes as the mesh has ranks; the exit code."""
    from specc.runtime.launch import launch  # noqa: PLC0415

    command = [sys.executable, "-m", *words(verb, args, facts), "--quiet"]
    return launch(command, facts.mesh.world, env=env)


def machine_variables(facts: Facts, environment: Environment) -> dict[str, str]:
    """Variables that the device's plugin reads when Python starts, for this machine.

    Those that somebody has set stay as they are.

    Raises:
        SpeccError: one is set to what breaks a training here.
    """
    from specc.runtime.here import local_platform  # noqa: PLC0415

    platform = local_platform(facts.target)
    for wanted in facts.target.harmful(platform, environment.variables):
        found = environment.variables[wanted.name]
        raise SpeccError(
            f"{wanted.name}={found} breaks a training here: {wanted.why}; "
            f"unset it, or set it to {wanted.value}"
        )
    known = facts.target.environment(platform)
    return {v.name: v.value for v in known if v.name not in environment.variables}


def words(verb: str, args: argparse.Namespace, facts: Facts) -> list[str]:
    """`specc run FILE ..` as every rank is started, whatever machine it is on."""
    found = ["specc", verb, facts.program.source.name, "--target", facts.target.name]
    found += ["--profile", args.profile] if args.profile else []
    found += ["--layout", args.layout] if args.layout else []
    for override in args.overrides:
        found += ["--set", override]
    return found


def launch_lines(verb: str, args: argparse.Namespace, facts: Facts) -> str:
    """The torchrun lines that start the spec on every node."""
    known = facts.target.environment(UNKNOWN)
    variables = [f"{variable.name}={variable.value}" for variable in known]
    command = shlex.join(words(verb, args, facts))
    nodes, per_node = _nodes(facts)
    if nodes == 1:
        place = ["--standalone", f"--nproc-per-node={per_node}"]
        return " ".join([*variables, "torchrun", *place, "-m", command]) + "\n"
    endpoint = facts.training.endpoint or "HOST:29500"
    lines: list[str] = []
    for node in range(nodes):
        place = [f"--nnodes={nodes}", f"--node-rank={node}", f"--nproc-per-node={per_node}"]
        place += ["--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}"]
        lines.append(" ".join([*variables, "torchrun", *place, "-m", command]))
    return "\n".join(lines) + "\n"


def _nodes(facts: Facts) -> tuple[int, int]:
    """Nodes, and ranks on each of them."""
    ranks = facts.mesh.world
    per_node = (facts.cluster.gpus if facts.cluster is not None else None) or ranks
    if ranks <= per_node or ranks % per_node:
        return 1, ranks
    return ranks // per_node, per_node
