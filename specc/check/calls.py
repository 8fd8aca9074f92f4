"""Settings of the function calls inside a block, evaluated for one use of the block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.expressions import number_of
from specc.check.names import Unknown
from specc.check.settings import Written, fill
from specc.program import model
from specc.program.walk import values_of
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.check.expressions import Scope
    from specc.program.model import ApplyFunction, BlockClass, Scalar
    from specc.vocabulary.record import SettingValue

# Settings that are tensors or dims of the program, which nothing evaluates.
NOT_EVALUATED = ("value", "dim")


def numbers(made: BlockClass, scope: Scope) -> dict[Scalar, float]:
    """Every plain number of the block's value expressions."""
    found: dict[Scalar, float] = {}
    for value in values_of(made.statements):
        if isinstance(value, model.Scalar):
            number = number_of(value.expr, scope)
            if not isinstance(number, Unknown):
                found[value] = number
    return found


def call_settings(
    made: BlockClass, scope: Scope
) -> dict[ApplyFunction, Mapping[str, SettingValue]]:
    """Settings of every function call in the block's statements, defaults filled in."""
    found: dict[ApplyFunction, Mapping[str, SettingValue]] = {}
    for value in values_of(made.statements):
        if isinstance(value, model.ApplyFunction) and not value.foreign:
            record = find("functions", value.function)
            accepted = [s for s in record.settings if s.kind not in NOT_EVALUATED]
            names = {setting.name for setting in accepted}
            given = [Written(g.name, g.expr, g.span) for g in value.settings if g.name in names]
            settings = fill(value.function, accepted, given, scope, value.span)
            if not isinstance(settings, Unknown):
                found[value] = settings
    return found
