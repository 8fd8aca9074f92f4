"""Settings of `train` and `launch`, evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.data import check_batch, check_held_out, check_ids, evaluate_sources
from specc.check.names import UNKNOWN, Unknown
from specc.check.settings import Written, constructor, fill, report_unknown, typed, written
from specc.check.tail import check_losses
from specc.plan.facts import Training
from specc.syntax import tree
from specc.vocabulary.find import find
from specc.vocabulary.record import REQUIRED, Constructor, Setting, SettingValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.check.assignments import Choice
    from specc.check.expressions import Scope
    from specc.check.overrides import Settled
    from specc.program.program import LossTerm, Program

TRAIN = (
    Setting("steps", "int", default=REQUIRED),
    Setting("accumulate", "int", default=1),
    Setting("clip", "float", default=None, optional=True),
    Setting("seed", "int", default=0),
    Setting("deterministic", "bool", default=False),
)
BLOCKS = {
    "log": (Setting("every", "int", default=REQUIRED), Setting("warmup", "int", optional=True)),
    "save": (
        Setting("every", "int", default=REQUIRED),
        Setting("dir", "string", default=REQUIRED),
        Setting("keep", "int", optional=True),
        Setting("async", "bool", default=False),
    ),
    "evaluate": (
        Setting("every", "int", default=REQUIRED),
        Setting("batches", "int", default=8),
    ),
}
LAUNCH = {
    "endpoint": Setting("endpoint", "string", default=None, optional=True),
    "timeout": Setting("timeout", "duration", default=None, optional=True),
}
CONSTRUCTORS = ("optimizer", "schedule")
# Counts in which K means 1,000 to most readers, although it is 1,024 here.
COUNTS = ("steps", "warmup", "every", "decay", "batches")
AT_LEAST_ONE = ("steps", "accumulate", "every", "batches", "keep")


def training(
    program: Program, settled: Settled, scope: Scope, sizes: Mapping[str, int], matmul: str | None
) -> Training | None:
    """The training that a program says; None when something is wrong, which has been reported."""
    train = program.train
    assert train is not None
    given = settled.part("train")
    plain = _plain(given, program, scope)
    blocks = {name: _block(name, given, scope) for name in BLOCKS}
    _check_known(given, scope)
    optimizer = _optimizer(given.get("optimizer"), program, scope)
    schedule = _schedule(given.get("schedule"), scope)
    sources = evaluate_sources(settled.fields, scope)
    check_batch(settled.fields, scope.report)
    check_ids(program, settled.fields, sources, sizes, scope.report)
    losses = [_loss_settings(term, scope) for term in train.loss]
    if not any(isinstance(found, Unknown) for found in losses):
        check_losses(program, [s for s in losses if not isinstance(s, Unknown)], scope.report)
    factors = [_factor(term, scope) for term in train.loss]
    launch = _launch(settled, scope)
    evaluated = blocks["evaluate"]
    if evaluated and not isinstance(evaluated, Unknown):
        check_held_out(settled.fields, sources, given["evaluate.every"].span, scope.report)
    _warn_of_waiting(blocks["save"], given, scope)
    if scope.report.failed or isinstance(plain, Unknown) or isinstance(optimizer, Unknown):
        return None
    known = {name: {} if isinstance(v, Unknown) else v for name, v in blocks.items()}
    return Training(
        fields=settled.fields,
        sources=sources,
        loss=train.loss,
        loss_settings=tuple({} if isinstance(s, Unknown) else s for s in losses),
        loss_factors=tuple(factors),
        optimizer=optimizer,
        schedule=None if isinstance(schedule, Unknown) else schedule,
        steps=_count(plain["steps"]) or 0,
        accumulate=_count(plain["accumulate"]) or 1,
        clip=_real(plain["clip"]),
        seed=_count(plain["seed"]) or 0,
        matmul=matmul or "fp32",
        deterministic=plain["deterministic"] is True,
        log_every=_count(known["log"].get("every")),
        log_warmup=_count(known["log"].get("warmup")),
        save_every=_count(known["save"].get("every")),
        save_dir=_text(known["save"].get("dir")),
        save_keep=_count(known["save"].get("keep")),
        evaluate_every=_count(known["evaluate"].get("every")),
        evaluate_batches=_count(known["evaluate"].get("batches")),
        endpoint=_text(launch.get("endpoint")),
        timeout_s=_real(launch.get("timeout")),
    )


# -------------------------------------------------------------------------------- settings


def _plain(
    given: Mapping[str, Choice], program: Program, scope: Scope
) -> dict[str, SettingValue] | Unknown:
    names = {setting.name for setting in TRAIN}
    chosen = [Written(name, c.value, c.span) for name, c in given.items() if name in names]
    assert program.train is not None
    values = fill("train", TRAIN, chosen, scope, program.train.span)
    return _checked("train", values, {c.name or "": c for c in chosen}, scope)


def _block(
    name: str, given: Mapping[str, Choice], scope: Scope
) -> dict[str, SettingValue] | Unknown:
    """Settings of `log`, `save` or `evaluate`; empty where the block is missing."""
    accepted = BLOCKS[name]
    names = {setting.name for setting in accepted}
    prefix = f"{name}."
    chosen = [
        Written(path.removeprefix(prefix), c.value, c.span)
        for path, c in given.items()
        if path.startswith(prefix) and path.removeprefix(prefix) in names
    ]
    if not chosen:
        return {}
    values = fill(name, accepted, chosen, scope, chosen[0].span)
    return _checked(name, values, {c.name or "": c for c in chosen}, scope)


def _checked(
    owner: str,
    values: dict[str, SettingValue] | Unknown,
    written_as: Mapping[str, Written],
    scope: Scope,
) -> dict[str, SettingValue] | Unknown:
    """Warn of K in counts of steps; report counts below one."""
    for name, item in written_as.items():
        if name in COUNTS:
            warn_of_thousands(f"{owner}.{name}", item.expr, scope)
    if isinstance(values, Unknown):
        return UNKNOWN
    for name, item in written_as.items():
        value = values[name]
        least = "at least 1" if name in AT_LEAST_ONE else "more than 0"
        if isinstance(value, int | float) and value <= 0 and name in (*AT_LEAST_ONE, "clip"):
            title = f"`{owner}.{name}` must be {least}"
            scope.report.error("E0235", item.expr.span, title, f"this is {value:g}")
            return UNKNOWN
    return values


def warn_of_thousands(where: str, expr: tree.Expr, scope: Scope) -> None:
    """Warn of `100K` where steps are counted: it is 102,400."""
    if not isinstance(expr, tree.Number) or expr.text[-1:] not in ("K", "M") or expr.unit:
        return
    decimal = expr.text.replace("K", "_000").replace("M", "_000_000")
    scope.report.warning(
        "E0609",
        expr.span,
        f"`{where} = {expr.text}` is {expr.value:,}: K and M count in 1,024s",
        "a count of steps",
        helps=[f"write `{decimal}`" if "." not in expr.text else "write the number out"],
    )


def _check_known(given: Mapping[str, Choice], scope: Scope) -> None:
    plain = [setting.name for setting in TRAIN] + [*CONSTRUCTORS, "data", "loss", *BLOCKS]
    for path, choice in given.items():
        block, _, name = path.partition(".")
        if block in BLOCKS and name:
            accepted = [setting.name for setting in BLOCKS[block]]
            if name not in accepted:
                report_unknown(block, name, choice.span, accepted, scope.report)
        elif path in BLOCKS:
            inner = ", ".join(setting.name for setting in BLOCKS[path])
            title = f"`{path}` is a block of settings"
            helps = [f"write `{path} {{ .. }}` with {inner}"]
            scope.report.error("E0602", choice.span, title, "not a value", helps=helps)
        elif path not in plain:
            report_unknown("train", path, choice.span, plain, scope.report)


def _optimizer(choice: Choice | None, program: Program, scope: Scope) -> Constructor | Unknown:
    if choice is not None:
        return constructor(choice.value, scope, "optimizers", "optimizer")
    assert program.train is not None
    title, helps = "`train` needs `optimizer`", ["add one, such as `optimizer = AdamW(lr = 1e-4)`"]
    scope.report.error("E0610", program.train.span, title, "missing", helps=helps)
    return UNKNOWN


def _schedule(choice: Choice | None, scope: Scope) -> Constructor | Unknown | None:
    if choice is None or (isinstance(choice.value, tree.Name) and choice.value.name == "none"):
        return None
    if isinstance(choice.value, tree.Call):
        for argument in choice.value.arguments:
            if argument.name in COUNTS:
                warn_of_thousands(f"schedule.{argument.name}", argument.value, scope)
    return constructor(choice.value, scope, "schedules", "schedule")


def _launch(settled: Settled, scope: Scope) -> dict[str, SettingValue]:
    values: dict[str, SettingValue] = {}
    for name, choice in settled.part("launch").items():
        if name not in LAUNCH:
            report_unknown("launch", name, choice.span, LAUNCH, scope.report)
            continue
        value = typed(f"launch.{name}", LAUNCH[name], choice.value, scope)
        values[name] = None if isinstance(value, Unknown) else value
    return values


def _warn_of_waiting(
    save: dict[str, SettingValue] | Unknown, given: Mapping[str, Choice], scope: Scope
) -> None:
    if isinstance(save, Unknown) or save.get("async") is not True:
        return
    scope.report.warning(
        "E0616",
        given["save.async"].span,
        "`save.async` does not save in the background yet",
        "training waits while a checkpoint is written",
        notes=["what is saved is the same"],
    )


# ------------------------------------------------------------------------------------ loss


def _loss_settings(term: LossTerm, scope: Scope) -> dict[str, SettingValue] | Unknown:
    record = find("losses", term.function)
    return fill(term.function, record.settings, written(term.settings), scope, term.span)


def _factor(term: LossTerm, scope: Scope) -> float:
    if term.factor is None:
        return 1.0
    value = typed("loss factor", Setting("factor", "float"), term.factor, scope)
    return value if isinstance(value, float) else 1.0


# ---------------------------------------------------------------------------------- values


def _count(value: SettingValue) -> int | None:
    return value if isinstance(value, int) else None


def _real(value: SettingValue) -> float | None:
    return value if isinstance(value, float) else None


def _text(value: SettingValue) -> str | None:
    return value if isinstance(value, str) else None
