"""What the loss of a training needs beyond its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.vocabulary.find import find

if TYPE_CHECKING:
    from specc.plan.facts import Training
    from specc.program.program import LossTerm

IGNORES_NOTHING = -100  # torch's default, which no label has


def ignoring(training: Training) -> LossTerm | None:
    """The term whose ignored labels make the count of the mean depend on the data, if there is one.

    The ranks then add up how many labels count, with the loss.
    """
    for term, settings in zip(training.loss, training.loss_settings, strict=True):
        setting = find("losses", term.function).ignore
        if setting is not None and settings[setting] != IGNORES_NOTHING:
            return term
    return None
