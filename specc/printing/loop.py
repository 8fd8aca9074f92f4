"""Text of `train()` and `main()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.texts import entry_text
from specc.plan.losses import ignoring
from specc.plan.tensor import WHOLE_TYPES, loss_place
from specc.printing.batches import reads_files, source_lines
from specc.printing.constants import seen
from specc.printing.context import Context, group_name, literal
from specc.printing.fit import fit, fit_body
from specc.printing.values import has_dropout, loss_text, piece_text, value_names
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from specc.plan.facts import Facts
    from specc.printing.tail import Tail
    from specc.program.dims import Shape
    from specc.program.program import LossTerm
    from specc.vocabulary.record import Settings

# Steps yield tensors: nothing in the loop waits for the device.

LOSS_WIDTH = 88  # columns that a line has inside the loops


def train_lines(context: Context, tail: Tail | None) -> list[str]:
    """`train(model, optimizer, batches, start)`: a generator of records."""
    facts = context.facts
    training = facts.training
    names = ", ".join(value_names(facts)[field.name] for field in training.fields)
    dynamic = ignored(facts)
    lines = [
        "def train(model, optimizer, batches, start=0):",
        '    """Train from step `start`; yields a record of each step, tensors on the device."""',
        *(["    summed = named_parameters(model, SUMMED)"] if facts.summed else []),
        "    for step in range(start, STEPS):",
        f"        mean = torch.zeros({2 if dynamic else '()'}, device=DEVICE)",
        *_micro_loop(facts),
    ]
    body = [f"{names} = next(batches)"]
    if has_dropout(facts):
        body.append("seed_dropout(model, SEED, step * ACCUMULATE + micro)")
    body += [*_loss_lines(context, tail), *_backward(context), *_count(context, dynamic)]
    for line in body:
        lines.extend([" " * 12 + line] if line.startswith("#") else fit(line, 12))
    return [*lines, *fit_body(_update(context, dynamic), 8)]


def ignored(facts: Facts) -> str | None:
    """Labels whose ignored entries make the loss's count depend on the data, if there are any."""
    term, tensor = ignoring(facts.training), facts.layout.tensor
    if term is None:
        return None
    name = value_names(facts)[term.arguments[-1]]
    if tensor is None or loss_place(term, tensor) != "split":
        return name
    return piece_text(name, term, tensor, f"model.{group_name(tensor.axes)}")


def _micro_loop(facts: Facts) -> list[str]:
    storage = facts.layout.storage.kind
    last = "micro == ACCUMULATE - 1"
    lines = ["        for micro in range(ACCUMULATE):"]
    needs_micro = has_dropout(facts)
    if facts.training.accumulate > 1 and storage == "ddp":
        lines.append(
            f"            model.require_backward_grad_sync = {last}  # one reduction a step"
        )
    elif facts.training.accumulate > 1 and storage in ("grads", "optim"):
        lines.append(f"            model.set_reshard_after_backward({last})")
        if storage == "optim":
            lines.append(f"            model.set_requires_gradient_sync({last})")
    elif not needs_micro:
        lines = ["        for _ in range(ACCUMULATE):"]
    return lines


# ---------------------------------------------------------------------------------------- loss


def _loss_lines(context: Context, tail: Tail | None) -> list[str]:
    """The model applied to a batch, then the loss as this rank's share of the mean."""
    facts = context.facts
    texts = _term_texts(context, tail)
    shares = [_share(context, text, number) for number, text in enumerate(texts)]
    lines = [f"loss = {' + '.join(shares)}"]
    if len(lines[0]) > LOSS_WIDTH:
        lines = [f"loss = {shares[0]}", *(f"loss = loss + {share}" for share in shares[1:])]
    if tail is not None:
        return lines
    assert facts.model.block is not None
    names = value_names(facts)
    used = {name for term in facts.training.loss for name in term.arguments}
    results = [
        names[name] if name is not None and name in used else "_"
        for name, _ in facts.model.block.results
    ]
    return [f"{', '.join(results)} = model({_inputs(facts)})", *lines]


def _inputs(facts: Facts) -> str:
    names = value_names(facts)
    assert facts.model.block is not None
    return ", ".join(names[name] for name, _ in facts.model.block.inputs)


def _term_texts(context: Context, tail: Tail | None) -> list[str]:
    """Each term of the loss as the sum over this rank's elements."""
    facts = context.facts
    names = value_names(facts)
    if tail is not None:
        return [f"model({_inputs(facts)}, {names[tail.labels]})"]
    terms = zip(facts.training.loss, facts.training.loss_settings, strict=True)
    return [_term_text(facts, term, settings) for term, settings in terms]


def _term_text(facts: Facts, term: LossTerm, settings: Settings) -> str:
    """A term of the loss; labels, which every rank has all of, as the values before them lie."""
    names, tensor = value_names(facts), facts.layout.tensor
    values = [names[name] for name in term.arguments]
    group = f"model.{group_name(tensor.axes)}" if tensor is not None else ""
    if tensor is not None and loss_place(term, tensor) == "split":
        values = [
            piece_text(name, term, tensor, group) if kind.dtype in WHOLE_TYPES else name
            for name, kind in zip(values, term.types, strict=True)
        ]
    return loss_text(facts, term, tuple(values), settings, group)


def _share(context: Context, text: str, number: int) -> str:
    """A term as this rank's share of the mean over the global batch."""
    factor = context.facts.training.loss_factors[number]
    front = f"{literal(factor)} * " if factor != 1 else ""
    count = count_text(context, number)
    return f"{front}{text} / {count}" if count.isidentifier() else f"{front}{text} / ({count})"


def count_text(context: Context, number: int) -> str:
    """Text of the number of elements, over all microbatches, that a term is the mean of."""
    facts = context.facts
    term = facts.training.loss[number]
    shape = _counted(facts, number)
    sizes = " * ".join(entry_text(entry) for entry in shape)
    text = f"{sizes} * ACCUMULATE" if sizes else "ACCUMULATE"
    constant = seen(context)
    if text == constant.value:
        text = constant.name
    split = {axis for name in _names(shape) for axis in facts.layout.axes_of(name)}
    tensor = facts.layout.tensor
    if tensor is not None and loss_place(term, tensor) == "split":
        split.update(tensor.axes)
    copies = [axis.name.upper() for axis in facts.mesh.axes if axis.name not in split]
    return " * ".join([text, *copies])


def _counted(facts: Facts, number: int) -> Shape:
    """Dims that a term counts: all of the values but the class dim."""
    term = facts.training.loss[number]
    record = find("losses", term.function)
    shape = term.types[0].shape
    return shape[: len(shape) - len(record.whole)]


def _names(shape: Shape) -> list[str]:
    return [
        factor
        for entry in shape
        for segment in entry
        for factor in segment
        if isinstance(factor, str)
    ]


def _backward(context: Context) -> list[str]:
    facts = context.facts
    if facts.mesh.world == 1 and not facts.mesh.world_is_open:
        return ["loss.backward()"]
    factors = [text for text in (averaged(context), _copies(facts)) if text]
    if not factors:
        return ["loss.backward()"]
    return [
        "# Each loss is a share of the mean: gradients are summed, so undo their average.",
        f"(loss * {' * '.join(factors)}).backward()",
    ]


def averaged(context: Context) -> str:
    """Text of the number of ranks that the gradients are averaged over; empty for one."""
    facts = context.facts
    fsdp = facts.layout.storage.kind != "ddp"
    if fsdp and facts.target.averages and _averaging(facts):
        return "AVERAGED"
    names = " * ".join(_averaging(facts))
    return names if len(_averaging(facts)) < 2 else f"({names})"


def _averaging(facts: Facts) -> list[str]:
    """Axes over whose ranks gradients are averaged: those that parameters are stored over."""
    apart = facts.layout.tensor.axes if facts.layout.tensor is not None else ()
    return [axis.name.upper() for axis in facts.mesh.axes if axis.name not in apart]


def _copies(facts: Facts) -> str:
    """Text of the number of ranks of the tensor split, where each of them has the whole loss."""
    tensor = facts.layout.tensor
    if tensor is None or loss_place(facts.training.loss[0], tensor) == "split":
        return ""
    return " * ".join(name.upper() for name in tensor.axes)


def averaged_lines(context: Context) -> list[str]:
    """The constant that undoes the average, where a backend of an old torch sums instead."""
    facts = context.facts
    if averaged(context) != "AVERAGED":
        return []
    version = ", ".join(map(str, facts.target.averages.at_least or ()))
    return [
        "# Gradients are summed over ranks, and FSDP2 asks for their average: undo it,",
        f"# unless an old {facts.target.collectives} sums anyway.",
        f"AVERAGED = {' * '.join(_averaging(facts))} if torch.__version__ >= ({version}) else 1",
    ]


def _count(context: Context, dynamic: str | None) -> list[str]:
    if dynamic is None:
        return ["mean += loss.detach()"]
    value = _ignored_value(context.facts)
    return [f"mean += torch.stack((loss.detach(), count_valid({dynamic}, {value})))"]


def _ignored_value(facts: Facts) -> str:
    """The label that does not count."""
    settings = facts.training.loss_settings
    return literal(next(s["ignore"] for s in settings if s.get("ignore", -100) != -100))


# -------------------------------------------------------------------------------------- update


def _update(context: Context, dynamic: str | None) -> list[str]:
    training = context.facts.training
    lines: list[str] = []
    factor = ""
    if dynamic is not None:
        lines += [
            "dist.all_reduce(mean)",
            f"factor = {count_text(context, 0)} / mean[1]  # counted labels may be fewer",
        ]
        factor = ", factor"
    if context.facts.summed:
        tensor = context.facts.layout.tensor
        assert tensor is not None
        lines.append(f"sum_gradients(summed, model.{group_name(tensor.axes)})")
    parameters = "model.parameters()"
    if training.clip is not None:
        lines.append(f"norm = clip_gradients({parameters}, CLIP{factor})")
    elif dynamic is not None:
        lines += [f"scale_gradients({parameters}, factor)", _norm(parameters)]
    else:
        lines.append(_norm(parameters))
    lines += _rate(context)
    lines += ["optimizer.step()", "optimizer.zero_grad()"]
    if dynamic is None:
        lines.append("dist.all_reduce(mean)")
    loss = "mean[0] * factor" if dynamic is not None else "mean"
    constant = seen(context).name
    words = f'"step": step, "loss": {loss}, "grad_norm": norm, "lr": lr'
    words += f', "{constant.lower()}": {constant}'
    return [*lines, f"yield {{{words}}}"]


def _norm(parameters: str) -> str:
    return f"norm = gradient_norm({parameters})"


def _rate(context: Context) -> list[str]:
    training = context.facts.training
    schedule = training.schedule
    if schedule is None or (schedule.name == "constant" and not schedule.settings.get("warmup")):
        return ["lr = LR"]
    texts = {name: name.upper() for name in schedule.settings} | {
        "step": "step",
        "peak": "LR",
        "steps": "STEPS",
    }
    call = find("schedules", schedule.name).construct(texts)
    own = any("lr" in dict(p.group) for p in context.facts.parameters)
    lines = [f"lr = {call}", "for group in optimizer.param_groups:"]
    if own:
        return [*lines, '    group["lr"] = lr * group.setdefault("peak", group["lr"]) / LR']
    return [*lines, '    group["lr"] = lr']


# ---------------------------------------------------------------------------------------- main


def main_lines(context: Context) -> list[str]:
    """`main()`: join the world, build, train, log, evaluate, save."""
    facts = context.facts
    target, training = facts.target, facts.training
    lines = ["@record", "def main():"]
    body: list[str] = []
    if target.binds_device:
        body.append('device = torch.device(DEVICE, int(os.environ.get("LOCAL_RANK", "0")))')
        body.append(
            f"{target.calls.set_device}  # by local rank: rank 8 owns device 0 of the second node"
        )
    else:
        body.append("device = torch.device(DEVICE)")
    axes = ", ".join(f'"{axis.name}": {axis.name.upper()}' for axis in facts.mesh.axes)
    timeout = _timeout(training.timeout_s or 600)
    body.append(f'join("{facts.program.name}", BACKEND, device, {{{axes}}}, {timeout}, __file__)')
    body.extend(target.tf32 if training.matmul == "tf32" else target.full_fp32)
    if training.deterministic:
        body.append("torch.use_deterministic_algorithms(True)")
    for line in body:
        indent = len(line) - len(line.lstrip())
        lines.extend(fit(line.lstrip(), 4 + indent))
    lines.extend(source_lines(context))
    lines.append("    model, optimizer = build(device)")
    start = "0"
    if training.save_every is not None:
        lines.append("    start = load(model, optimizer, SAVE_DIR, RESUME) if RESUME else 0")
        start = "start"
    lines.append("    weights = digest(model)  # of the initial weights: the same on every mesh")
    warmup = ", LOG_WARMUP" if training.log_warmup else ""
    lines.append(f"    log = Log(RANK, METRICS, LOG_EVERY{warmup})")
    source = "source, device" if reads_files(context) else "device"
    more = ", start" if start == "start" else ""
    lines.extend(
        fit(f"for row in train(model, optimizer, ahead(batches({source}, {start})){more}):", 4)
    )
    lines += ['        if row["step"] == 0:', '            row["weights"] = weights']
    lines.extend(_evaluate(context))
    lines.append("        log(row)")
    if training.save_every is not None:
        lines.append('        if (row["step"] + 1) % SAVE_EVERY == 0 or row["step"] + 1 == STEPS:')
        lines.append('            save(model, optimizer, row["step"] + 1, SAVE_DIR, SAVE_KEEP)')
    lines += ["    log.summary()", "    dist.barrier()"]
    if facts.layout.storage.kind == "ddp":
        lines.append("    del model  # a reducer of DDP that outlives its process group can hang")
    return [*lines, "    dist.destroy_process_group()"]


def _timeout(seconds: float) -> str:
    whole = seconds % 60 == 0
    return f"timedelta(minutes={seconds / 60:g})" if whole else f"timedelta(seconds={seconds:g})"


def _evaluate(context: Context) -> list[str]:
    training = context.facts.training
    if training.evaluate_every is None:
        return []
    return [
        '        if (row["step"] + 1) % EVALUATE_EVERY == 0 or row["step"] + 1 == STEPS:',
        "            held = held_out_batches(held_out, device)",
        '            row["held_out_loss"] = evaluate(model, held, held_out_loss(model))',
    ]


def held_out_lines(context: Context, tail: Tail | None) -> list[str]:
    """The loss of a held-out batch, as `evaluate` wants it: this rank's sum and count."""
    training = context.facts.training
    if training.evaluate_every is None:
        return []
    local = value_names(context.facts)
    names = ", ".join(local[f.name] for f in training.fields)
    body = _loss_lines(context, tail)
    if len(training.loss) > 1:
        what = "this rank's share of the loss, and its part of what shares are of"
        body.append("return loss, 1 / (WORLD * ACCUMULATE)")
    else:
        what = "this rank's sum of the loss, and how many terms are in it"
        body[-1] = f"return {_local_sum(context, tail)}, {_local_count(context)}"
    lines = ["def held_out_loss(model):", f'    """Of one batch: {what}."""']
    lines += ["", f"    def batch_loss({names}):"]
    for line in body:
        lines.extend(fit(line, 8))
    return [*lines, "", "    return batch_loss"]


def _local_sum(context: Context, tail: Tail | None) -> str:
    """The only term of the loss, summed over this rank's part of a batch."""
    factor = context.facts.training.loss_factors[0]
    text = _term_texts(context, tail)[0]
    return f"{literal(factor)} * {text}" if factor != 1 else text


def _local_count(context: Context) -> str:
    """How many elements of this rank's part of a batch the mean of the only term runs over."""
    labels = ignored(context.facts)
    if labels is not None:
        return f"count_valid({labels}, {_ignored_value(context.facts)})"
    kind = context.facts.training.loss[0].types[0]
    return " * ".join(context.local(entry, kind) for entry in _counted(context.facts, 0)) or "1"
