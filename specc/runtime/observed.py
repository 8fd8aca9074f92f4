"""Trains what a text says on one rank of a job, and keeps all that can be compared."""

import contextlib
import hashlib
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from specc.parts.init import counts_copy, kept_slices
from specc.runtime.beside import modules_beside
from specc.runtime.execute import load_text
from specc.runtime.recorder import Collective, Recorder

COUNTED_STEP = 1  # collectives are those of the second step: the first one may prepare something


class Observed(BaseException):
    """Ends `main` when its loop has been watched."""


@attrs.frozen(eq=False)
class Training:
    """What one training did, with whole tensors; all ranks have the records, rank 0 the tensors.

    Args:
        digest: of the initial weights.
        initial, gradients, final: by name; gradients are those of step 0, as the optimizer sees
            them, without the parameters that have none.
        records: (loss, gradient norm) of each step.
        bits: hash of the final weights as this rank sees them.
        sent: collectives of one step; empty if there was one step alone.
    """

    digest: str
    initial: dict[str, Tensor]
    gradients: dict[str, Tensor]
    final: dict[str, Tensor]
    records: tuple[tuple[float, float], ...]
    bits: str
    sent: Counter[Collective] = attrs.field(factory=Counter[Collective])


def observe(
    text: str,
    name: str,
    steps: int | None = None,
    axes: Mapping[str, int] | None = None,
    spec: str | None = None,
) -> Training:
    """Run the `main` of a text in the process group that exists, up to the end of its loop.

    Args:
        steps: the text's own number, or fewer.
        axes: sizes of the mesh's axes, outermost first, by which the groups of collectives are
            named.
        spec: path of the spec; modules beside it can be imported.
    """
    with modules_beside(spec) if spec is not None else contextlib.nullcontext():
        module = load_text(text, name)
        loop = module.train
        seen: list[Training] = []

        def train(
            model: nn.Module,
            optimizer: torch.optim.Optimizer,
            batches: Iterator[Any],
            start: int = 0,
        ) -> None:
            rows = loop(model, optimizer, batches, start)
            seen.append(_watch(module.digest(model), model, optimizer, rows, steps, axes or {}))
            raise Observed

        vars(module)["train"] = train
        with contextlib.suppress(Observed):
            inspect.unwrap(module.main)()
    (found,) = seen
    return found


def _watch(
    digest: str,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    rows: Iterable[Mapping[str, Any]],
    steps: int | None,
    axes: Mapping[str, int],
) -> Training:
    initial = weights(model)
    gradients: dict[str, Tensor] = {}

    def keep(*_: object) -> None:
        if not gradients:
            gradients.update(whole_gradients(model))

    optimizer.register_step_pre_hook(keep)
    recorder = Recorder()
    recorder.add_axes(axes, dist.get_rank())
    records: list[tuple[float, float]] = []
    waiting = iter(rows)
    while len(records) != steps:
        with recorder if len(records) == COUNTED_STEP else contextlib.nullcontext():
            row = next(waiting, None)
        if row is None:
            break
        records.append((float(row["loss"]), float(row["grad_norm"])))
    final = weights(model)
    bits = hashlib.sha256(
        b"".join(
            tensor.contiguous().view(torch.uint8).numpy().tobytes() for tensor in final.values()
        )
    ).hexdigest()
    if dist.get_rank() != 0:
        initial, gradients, final = {}, {}, {}
    return Training(digest, initial, gradients, final, tuple(records), bits, recorder.counts)


def bare(model: nn.Module) -> nn.Module:
    """The model itself, whose names are those of the spec."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, a copy; every rank calls it.

    On a mesh of all ranks without `full_tensor`, which gathers along one mesh dim after the other
    and warns of that.
    """
    tensor = tensor.detach()
    if not isinstance(tensor, DTensor):
        return tensor.clone()
    if tensor.device_mesh.size() != dist.get_world_size():
        return tensor.full_tensor().clone()
    found = torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    if counts_copy(tensor):
        found[kept_slices(tensor)] = tensor.to_local()
    dist.all_reduce(found)
    return found


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Whole parameters by name, a tied one under each of its names."""
    return {n: whole(p) for n, p in bare(model).named_parameters(remove_duplicate=False)}


def whole_gradients(model: nn.Module) -> dict[str, Tensor]:
    """Whole gradients by name, of the parameters that have one."""
    found = bare(model).named_parameters(remove_duplicate=False)
    return {name: whole(p.grad) for name, p in found if p.grad is not None}
