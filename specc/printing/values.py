"""Python names of data fields and model results, in the functions of the text that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.tensor import loss_place, place
from specc.printing.names import Names
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from specc.plan.facts import Facts, TensorSplit
    from specc.program.program import LossTerm
    from specc.vocabulary.record import Settings

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


def loss_text(
    facts: Facts, term: LossTerm, values: tuple[str, ...], settings: Settings, group: str
) -> str:
    """A term of the loss as the sum over this rank's elements.

    Args:
        group: text of the process group of the tensor split.
    """
    record = find("losses", term.function)
    if loss_place(term, facts.layout.tensor) == "classes":
        return record.classes(values, settings, group)
    return record.construct(values, settings)


def piece_text(name: str, term: LossTerm, tensor: TensorSplit, group: str) -> str:
    """This rank's piece of a loss's labels, which every rank has all of."""
    at = place(term.types[0], tensor)
    assert at is not None
    return f"piece({name}, {at[0]}, {group})"
