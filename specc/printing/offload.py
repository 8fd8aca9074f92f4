"""Text of what moves to the memory of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.externs import extern_uses
from specc.printing.values import has_dropout
from specc.targets import HOST

if TYPE_CHECKING:
    from specc.plan.facts import Facts, Unit
    from specc.printing.context import Context

POLICY = "host"


def policy_lines(context: Context) -> list[str]:
    """`host = CPUOffloadPolicy()`, in `shard()`; none where no unit is moved."""
    facts = context.facts
    offload = facts.layout.offload
    if offload is None or not offload.parameters:
        return []
    place = context.place(offload.rule)
    if not facts.layout.storage.replicate:
        return [f"    {POLICY} = CPUOffloadPolicy()  # {place}"]
    return [
        "    # Not pinned: after an all-reduce torch may free gradients while they are copied to",
        "    # pinned memory (pytorch pull request 180665).",
        f"    {POLICY} = CPUOffloadPolicy(pin_memory=False)  # {place}",
    ]


def policy_words(unit: Unit) -> str:
    """Keyword of a unit's `fully_shard`."""
    return f", offload_policy={POLICY}" if unit.on_host else ""


def is_whole(facts: Facts) -> bool:
    """Whether all tensors of the model lie on the host, so that no table has to say which."""
    offload = facts.layout.offload
    if offload is None:
        return False
    # keys of dropout are buffers, and externs may have some of their own
    has_more = has_dropout(facts) or any(extern_uses(facts))
    names = frozenset(p.name for p in facts.parameters if p.tied_to is None)
    return not has_more and names == offload.parameters


def empty_line(facts: Facts) -> str:
    """The call in `build()` that gives the model its memory."""
    offload = facts.layout.offload
    if offload is None or not offload.parameters:
        return "model.to_empty(device=device)"
    if is_whole(facts):
        return f'model.to_empty(device="{HOST.device}")  # parameters stay on the host'
    return "to_empty(model, device, ON_HOST)"


def names_on_host(facts: Facts) -> list[str]:
    """Names of `ON_HOST`, those of tied parameters too; none where nothing or all is moved."""
    offload = facts.layout.offload
    if offload is None or is_whole(facts):
        return []
    return [p.name for p in facts.parameters if (p.tied_to or p.name) in offload.parameters]


def step_lines(context: Context) -> list[str]:
    """The call in `build()` that moves the optimizer's state and step."""
    offload = context.facts.layout.offload
    if offload is None or not offload.state:
        return []
    return [f"    step_on_host(optimizer)  # {context.place(offload.rule)}"]


def optimizer_flag(facts: Facts) -> str:
    """The fast form of the optimizer where it steps: on the device, or all of it on the host."""
    offload = facts.layout.offload
    if offload is None:
        return facts.target.optimizer_flag
    trained = {p.name for p in facts.parameters if p.trained and not p.frozen and not p.tied_to}
    is_on_host = offload.state or trained <= offload.parameters
    return HOST.optimizer_flag if is_on_host else facts.target.optimizer_flag
