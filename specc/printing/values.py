"""Python names of data fields and model results, in the functions of the text that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.printing.names import Names

if TYPE_CHECKING:
    from specc.plan.facts import Facts

LOCALS = (
    "model",
    "optimizer",
    "batches",
    "start",
    "step",
    "micro",
    "mean",
    "loss",
    "norm",
    "lr",
    "factor",
    "group",
    "source",
    "held_out",
    "device",
    "index",
)


def value_names(facts: Facts) -> dict[str, str]:
    """Python names of data fields and model results inside `train()` and `batches()`."""
    names = Names(taken=set(LOCALS))
    block = facts.model.block
    assert block is not None
    wanted = [field.name for field in facts.training.fields]
    wanted += [name for name, _ in block.results if name is not None]
    return {name: names.of(name) for name in wanted}


def has_dropout(facts: Facts) -> bool:
    """Whether the model draws masks."""
    return any(module.type == "Dropout" for module in facts.model.walk())
