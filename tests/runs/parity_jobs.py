"""Jobs of the parity tests: train a printed text on some ranks, keep all that can be compared."""

import hashlib
import warnings
from collections.abc import Iterator
from typing import Any

import attrs
import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from specc.runtime.execute import load_text


@attrs.frozen(eq=False)
class Training:
    """What one training did, with whole tensors; all ranks have the records, rank 0 the tensors.

    Args:
        digest: of the initial weights.
        initial, gradients, final: by name; gradients are those of step 0, as the optimizer sees
            them, without the parameters that have none.
        records: (loss, gradient norm) of each step.
        bits: hash of the final weights as this rank sees them.
    """

    digest: str
    initial: dict[str, Tensor]
    gradients: dict[str, Tensor]
    final: dict[str, Tensor]
    records: tuple[tuple[float, float], ...]
    bits: str


def train(text: str, name: str, steps: int | None = None) -> Training:
    """Train what a text says in the process group that exists; a FutureWarning is an error.

    Args:
        steps: the text's own number, or fewer.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        return trained(text, name, steps)


def trained(text: str, name: str, steps: int | None) -> Training:
    module = load_text(text, name)
    device = torch.device("cpu")
    model, optimizer = module.build(device)
    digest, initial = module.digest(model), weights(model)
    gradients: dict[str, Tensor] = {}

    def keep(*_: object) -> None:
        if not gradients:
            gradients.update(whole_gradients(model))

    optimizer.register_step_pre_hook(keep)
    rows = module.train(model, optimizer, batches(module, device))
    records: list[tuple[float, float]] = []
    for row in rows:
        records.append((float(row["loss"]), float(row["grad_norm"])))
        if len(records) == steps:
            break
    final = weights(model)
    bits = hashlib.sha256(b"".join(t.numpy().tobytes() for t in final.values())).hexdigest()
    if module.RANK != 0:
        initial, gradients, final = {}, {}, {}
    return Training(digest, initial, gradients, final, tuple(records), bits)


def trainings(texts: list[tuple[str, str, int | None]]) -> list[Training]:
    """Several trainings, one after the other, in one job."""
    return [train(*text) for text in texts]


def batches(module: Any, device: torch.device) -> Iterator[tuple[Tensor, ...]]:
    """This rank's part of every microbatch."""
    return module.batches(device, 0)


def bare(model: nn.Module) -> nn.Module:
    """The model itself, whose names are those of the spec."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, a copy."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).clone()


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Whole parameters by name, a tied one under each of its names."""
    return {n: whole(p) for n, p in bare(model).named_parameters(remove_duplicate=False)}


def whole_gradients(model: nn.Module) -> dict[str, Tensor]:
    """Whole gradients by name, of the parameters that have one."""
    found = bare(model).named_parameters(remove_duplicate=False)
    return {name: whole(p.grad) for name, p in found if p.grad is not None}


def first_batch(text: str, name: str) -> Tensor:
    """This rank's part of the first field of the first batch."""
    return next(batches(load_text(text, name), torch.device("cpu")))[0]
