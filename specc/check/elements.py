"""Whether the elements of every tensor can be counted in 64 bits."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from specc.check.expressions import LIMIT
from specc.program import model
from specc.program.dims import show_shape, size
from specc.program.walk import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.diagnostics import Report
    from specc.program.dims import Shape
    from specc.program.model import BlockClass
    from specc.program.program import Program
    from specc.source import Span


def check_elements(program: Program, sizes: Mapping[str, int], report: Report) -> None:
    """Report the first value of each block that has too many; parameters are unfolded later."""
    for made in program.classes.values():
        for shape, span in _shapes(made):
            if not check_shape(shape, sizes, span, report):
                break


def _shapes(made: BlockClass) -> Iterator[tuple[Shape, Span]]:
    for _, kind in made.inputs:
        yield kind.shape, made.span
    for value in values_of(made.statements):
        if isinstance(value, (model.ApplyPart, model.ApplyFunction)):
            yield from ((kind.shape, value.span) for kind in value.types)
        elif not isinstance(value, model.Scalar):
            yield value.type.shape, value.span


def check_shape(shape: Shape, sizes: Mapping[str, int], span: Span, report: Report) -> bool:
    """Whether torch can count a tensor's elements; reported if not."""
    if prod(size(entry, sizes) for entry in shape) <= LIMIT:
        return True
    numbers = " x ".join(str(size(entry, sizes)) for entry in shape)
    title = f"a tensor of shape {show_shape(shape)} has more elements than 64 bits count"
    report.error("E0230", span, title, numbers)
    return False
