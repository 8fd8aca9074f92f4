"""Whether a model can be built with parameters that are split by their dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.plan.placing import Placed, place_block
from specc.plan.tensor import COLUMNS, lie, loss_place, parameter_dim, place
from specc.plan.uses import gradient_uses
from specc.program.dims import show

if TYPE_CHECKING:
    from specc.check.selectors import Tree
    from specc.diagnostics import Report
    from specc.plan.facts import Facts, TensorSplit
    from specc.program.program import LossTerm, Program


def place_tensors(program: Program, model_tree: Tree, split: TensorSplit) -> dict[str, Placed]:
    """Every block's statements with the exchanges that a split needs; faults are reported."""
    report = model_tree.report
    used = {node.block.key: node.block for node in model_tree.parts.values() if node.block}
    placed = {key: place_block(program, made, split) for key, made in used.items()}
    axes = "*".join(split.axes)
    for fault in dict.fromkeys(fault for found in placed.values() for fault in found.faults):
        also = [(split.rule, f"splits {', '.join(f'`{d}`' for d in split.dims)} over `{axes}`")]
        report.error(
            fault.code, fault.span, fault.title, fault.label, also=also, helps=list(fault.helps)
        )
    if program.train is not None:
        _check_loss(program.train.loss, split, report)
    return placed


def _check_loss(terms: tuple[LossTerm, ...], split: TensorSplit, report: Report) -> None:
    """Report terms that ranks share in different ways, and classes that lie apart."""
    for term in terms:
        classes = term.types[0].shape[-1:]
        if loss_place(term, split) == "classes" and lie(classes[0], split) != COLUMNS:
            report.error(
                "E0410",
                term.span,
                f"`{term.function}` needs the classes of a rank side by side, and "
                f"`{'*'.join(split.axes)}` splits `{show(classes[0])}` otherwise",
                "over these classes",
                also=[(split.rule, "split here")],
                helps=["give the classes a dim of their own"],
            )
    kinds = {loss_place(term, split) == "split": term for term in terms}
    if len(kinds) > 1:
        at = place(kinds[True].types[0], split)
        assert at is not None
        is_otherwise = at[1] not in split.dims
        report.error(
            "E0494",
            kinds[True].span,
            f"a loss some terms of which `{'*'.join(split.axes)}` splits is not built yet",
            "each rank has a part of this one, and all of another",
            also=[(split.rule if is_otherwise else split.rules[at[1]], "split here")],
            helps=[f"leave `{'else ' if is_otherwise else ''}{at[1]}` out of the rule"],
        )


def summed(facts: Facts, report: Report) -> tuple[str, ...]:
    """Parameters whose gradients are summed over the axes of the split."""
    split = facts.layout.tensor
    if split is None:
        return ()
    uses = gradient_uses(facts.model, facts.placed)
    found: list[str] = []
    for parameter in facts.parameters:
        is_own = parameter.trained and parameter.tied_to is None
        if not is_own or parameter_dim(parameter.shape, split) is not None:
            continue
        kinds = uses.get(parameter.name, frozenset())
        if len(kinds) > 1:
            report.error(
                "E0494",
                split.rule,
                f"`{parameter.name}` is used on values that `{'*'.join(split.axes)}` splits and on "
                "values that it does not: that is not built yet",
                "splits some of them",
                helps=["use two parameters, or leave `else` out"],
            )
        elif True in kinds and not parameter.frozen:
            found.append(parameter.name)
    return tuple(found)
