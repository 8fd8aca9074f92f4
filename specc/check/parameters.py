"""How each parameter starts and is optimized: `init` and `optimize` rules, `init =`, ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from specc.check.assignments import Assignment, flatten
from specc.check.names import Unknown
from specc.check.rules import Claim, decide, same
from specc.check.settings import constructor, report_unknown, typed
from specc.diagnostics import nearest
from specc.plan.facts import Draw, Parameter
from specc.syntax import tree
from specc.vocabulary.find import find, known_names
from specc.vocabulary.record import Constructor, Later, OptimizerRecord, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specc.check.selectors import Selection, Tree
    from specc.check.ties import Tied
    from specc.check.verbs import Precisions
    from specc.diagnostics import Report
    from specc.program.program import Program
    from specc.vocabulary.record import SettingValue

FROZEN = Setting("frozen", "bool", default=False)
MATRIX = (
    2  # dims from which on a parameter is a matrix: drawn by rules on parts, decayed by `matrices`
)


def parameters(
    rules: Iterable[tree.VerbRule],
    model: Tree,
    optimizer: Constructor | None,
    dtypes: Precisions,
    ties: Tied,
) -> dict[str, Parameter]:
    """Every tensor of the model by name, in state-dict order."""
    rules = tuple(rules)
    draws = _draws([rule for rule in rules if rule.verb == "init"], model)
    _check_ties("init", draws, ties, model)
    settings = _optimized([rule for rule in rules if rule.verb == "optimize"], model, optimizer)
    for name, claims in settings.items():
        _check_ties(f"optimize.{name}", claims, ties, model)
    made: dict[str, Parameter] = {}
    for name, tensor in model.tensors.items():
        source = ties.to.get(name, name)
        frozen = settings.get("frozen", {}).get(source)
        made[name] = Parameter(
            name=name,
            shape=tensor.parameter.shape,
            sizes=tensor.sizes,
            draw=_draw(source, draws, model),
            precision=dtypes.tensors[name],
            trained=tensor.parameter.trained,
            frozen=frozen is not None and frozen.value is True,
            tied_to=ties.to.get(name),
            group=_group(source, settings, optimizer, len(tensor.sizes)),
        )
    return made


def check_trained(program: Program, made: Mapping[str, Parameter], report: Report) -> None:
    """Report a model in which nothing is trained."""
    trained = [parameter for parameter in made.values() if parameter.trained]
    if any(not parameter.frozen for parameter in trained):
        return
    assert program.model is not None
    block = program.classes[program.model]
    title = f"all parameters of `{block.name}` are frozen"
    way_out = "leave one out of `frozen = true`"
    if not trained:
        title = f"`{block.name}` has no parameters"
        way_out = "give it a part with weights, such as `Linear(d -> d)`"
    report.error("E0618", block.span, title, "nothing to train", helps=[way_out])


# ------------------------------------------------------------------------------------- init


def _draws(rules: list[tree.VerbRule], model: Tree) -> Mapping[str, Claim]:
    claims = _declared_draws(model)
    for rule in rules:
        selection = model.select_all(rule.selectors)
        draw = _rule_draw(rule, model)
        if selection is None or draw is None:
            continue
        reached = _matrices(selection, model)
        if not reached:
            model.report.error(
                "E0402",
                rule.span,
                "this `init` reaches no parameter",
                "nothing to draw",
                notes=["a rule on parts reaches parameters with two or more dims"],
                helps=["name the parameter: `init each Linear.bias { .. }`"],
            )
        _check_own(reached, rule, model)
        claims.append(Claim(reached, draw, rule.span))
    return decide("init", claims, model.report)


def _check_own(reached: frozenset[str], rule: tree.VerbRule, model: Tree) -> None:
    """Report a draw of what the class of an extern draws itself."""
    own = [n for n, t in model.tensors.items() if n in reached and t.parameter.init == "own"]
    if own:
        part = model.owners[own[0]]
        model.report.error(
            "E0402",
            rule.span,
            f"`{own[0]}` is drawn by its own class, and this `init` would not change it",
            "reaches an extern",
            helps=[f"draw it in the class, and leave it out here: `except {part}`"],
        )


def _matrices(selection: Selection, model: Tree) -> frozenset[str]:
    """What a rule draws: parameters that it names, and matrices of the parts that it selects."""
    inside = model.tensors_of(selection.parts)
    matrices = {name for name in inside if len(model.tensors[name].sizes) >= MATRIX}
    return selection.direct | matrices


def _declared_draws(model: Tree) -> list[Claim]:
    """`init =` is a rule that selects the first tensor of every part made from that line."""
    by_line: dict[tuple[str, int], list[str]] = {}
    for name, tensor in model.tensors.items():
        if tensor.init is not None:
            what = model.parts[model.owners[name]].what
            assert what is not None
            by_line.setdefault((what.span.source.name, what.span.start), []).append(name)
    claims: list[Claim] = []
    for names in by_line.values():
        what = model.parts[model.owners[names[0]]].what
        assert what is not None
        claims.append(Claim(frozenset(names), model.tensors[names[0]].init, what.span))
    return claims


def _rule_draw(rule: tree.VerbRule, model: Tree) -> Constructor | None:
    """The draw that `{ normal = 0.02 }` says."""
    lines = flatten(rule.attrs, (), "file")
    if len(lines) != 1:
        model.report.error(
            "E0611",
            rule.span,
            "`init` takes one way to draw",
            f"{len(lines)} here",
            helps=["write `init each Linear { normal = 0.02 }`"],
        )
        return None
    line = lines[0]
    name = ".".join(line.paths[0])
    record = find("inits", name)
    if record is None or isinstance(record, Later):
        _report_draw(name, line, model)
        return None
    made = constructor(_as_call(name, line), model.scope, "inits", "init")
    return None if isinstance(made, Unknown) else made


def _as_call(name: str, line: Assignment) -> tree.Call:
    """`normal = 0.02` as `normal(0.02)`, `ones = true` as `ones()`."""
    value = line.value
    items: tuple[tree.Expr, ...] = value.items if isinstance(value, tree.ListOf) else (value,)
    if isinstance(value, tree.Name) and value.name == "true":
        items = ()
    arguments = tuple(tree.Argument(None, item, item.span) for item in items)
    return tree.Call(tree.Name(name, line.span), arguments, line.span)


def _report_draw(name: str, line: Assignment, model: Tree) -> None:
    near = nearest(name, known_names("inits"))
    model.report.error(
        "E0603",
        line.span,
        f"unknown init `{name}`",
        "no way to draw a weight",
        notes=[f"inits: {', '.join(known_names('inits'))}"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _draw(name: str, draws: Mapping[str, Claim], model: Tree) -> Draw:
    claim = draws.get(name)
    if claim is not None and isinstance(claim.value, Constructor):
        return Draw(claim.value.name, claim.value.settings)
    return Draw(model.tensors[name].parameter.init, {})


# --------------------------------------------------------------------------------- optimize


def _optimized(
    rules: list[tree.VerbRule], model: Tree, optimizer: Constructor | None
) -> dict[str, Mapping[str, Claim]]:
    """The claim that holds for each setting and parameter."""
    record: Any = find("optimizers", optimizer.name) if optimizer is not None else None
    claims: dict[str, list[Claim]] = {}
    for rule in rules:
        selection = model.select_all(rule.selectors)
        for line in flatten(rule.attrs, (), "file"):
            name = ".".join(line.paths[0])
            setting = _group_setting(name, record, line, model)
            if selection is None or setting is None:
                continue
            value = typed(f"optimize.{name}", setting, line.value, model.scope)
            if not isinstance(value, Unknown):
                reached = model.tensors_of(selection.parts) | selection.direct
                claims.setdefault(name, []).append(Claim(reached, value, line.span))
    return {name: decide(f"optimize.{name}", found, model.report) for name, found in claims.items()}


def _group_setting(
    name: str, record: OptimizerRecord | None, line: Assignment, model: Tree
) -> Setting | None:
    if name == "frozen":
        return FROZEN
    if name == "optimizer":
        model.report.error(
            "E0494",
            line.span,
            "this version of specc trains all parameters with one optimizer",
            "not built yet",
            helps=["leave it out for now"],
        )
        return None
    if record is None:
        return None
    if name not in record.group:
        report_unknown("optimize", name, line.span, [*record.group, "frozen"], model.report)
        return None
    found = next(setting for setting in record.settings if setting.name == name)
    return attrs.evolve(found, default=0)


def _group(
    name: str,
    settings: Mapping[str, Mapping[str, Claim]],
    optimizer: Constructor | None,
    dims: int,
) -> tuple[tuple[str, SettingValue], ...]:
    """Settings of a parameter that differ from the optimizer's own."""
    if optimizer is None:
        return ()
    own = dict(optimizer.settings)
    wanted = dict(own)
    if own.get("decay") == "matrices" and dims < MATRIX:
        wanted["weight_decay"] = 0.0
    for key, claims in settings.items():
        if key != "frozen" and name in claims:
            wanted[key] = claims[name].value
    return tuple((key, value) for key, value in wanted.items() if not same(value, own[key]))


# ------------------------------------------------------------------------------------- ties


def _check_ties(property_name: str, claims: Mapping[str, Claim], ties: Tied, model: Tree) -> None:
    """A tied parameter follows the other: rules that reach only the follower are in vain."""
    for left, right in ties.to.items():
        claim, other = claims.get(left), claims.get(right)
        if claim is None or (other is not None and same(claim.value, other.value)):
            continue
        if right in claim.elements:
            continue
        model.report.error(
            "E0407",
            claim.span,
            f"`{left}` is tied to `{right}`, and this sets `{property_name}` for the first only",
            f"reaches `{left}` alone",
            also=[(ties.spans[left], "one tensor, drawn and optimized as the second")],
            helps=[f"select `{right}` too, or leave `{left}` out with `except`"],
        )
