"""What ranks of the pool do with a spec through the Python API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.nn.utils import clip_grad_norm_

import specc
from specc.parts.losses import cross_entropy, split_cross_entropy
from specc.plan.holding import holding
from specc.runtime.session import held, numbers


def own_loop(path: str, overrides: tuple[str, ...], steps: int) -> list[float]:
    """Losses of somebody's own loop: the mean of the squared outputs, on this rank."""
    spec = specc.load(Path(path), target="cpu", overrides=overrides)
    losses: list[float] = []
    with spec.build() as training:
        batches = training.batches()
        for _ in range(steps):
            (x,) = next(batches)
            loss = training.model(x).float().square().mean()
            loss.backward()
            training.optimizer.step()
            training.optimizer.zero_grad()
            losses.append(loss.item())
    return losses


def labelled_loop(path: str, overrides: tuple[str, ...], steps: int) -> list[float]:
    """Losses of one's own loop that does what the spec's loop does, on one rank."""
    spec = specc.load(Path(path), target="cpu", overrides=overrides)
    losses: list[float] = []
    with spec.build() as training:
        batches = training.batches()
        for _ in range(steps):
            ids, labels = next(batches)
            loss = cross_entropy(training.model(ids), labels) / labels.numel()
            loss.backward()
            clip_grad_norm_(training.model.parameters(), 1.0)
            training.optimizer.step()
            training.optimizer.zero_grad()
            losses.append(loss.item())
    return losses


def losses_from(path: str, overrides: tuple[str, ...]) -> tuple[list[float], float]:
    """Losses of the initial weights on the first three batches, and on the first of step 1."""
    spec = specc.load(Path(path), target="cpu", overrides=overrides)
    with spec.build() as training, torch.no_grad():

        def loss(batches: Iterator[tuple[torch.Tensor, ...]]) -> float:
            ids, labels = next(batches)
            return cross_entropy(training.model(ids), labels).item()

        batches = training.batches()
        return [loss(batches) for _ in range(3)], loss(training.batches(start=1))


def split_loop(path: str, overrides: tuple[str, ...], sums: bool) -> list[float] | str:
    """Norms of the gradients of the second step of one's own loop over pieces, or its fault."""
    spec = specc.load(Path(path), target="cpu", layout="sp", overrides=overrides)
    with spec.build() as training:
        model, batches = training.model, training.batches()
        group: Any = model.tp_group
        for _ in range(2):
            training.optimizer.zero_grad()
            ids, labels = next(batches)
            loss = split_cross_entropy(model(ids), labels, group)
            (loss / labels.numel()).backward()
            if sums:
                training.sum_gradients()
            try:
                training.optimizer.step()
            except RuntimeError as error:
                return f"{error}"
        return [norm_of(weight.grad) for weight in model.parameters()]


def norm_of(grad: torch.Tensor | None) -> float:
    """Norm of a whole gradient."""
    assert grad is not None
    return (grad.full_tensor() if isinstance(grad, DTensor) else grad).norm().item()


def own_records(path: str, overrides: tuple[str, ...]) -> list[dict[str, float]]:
    """The records of the spec's loop, taken from the object."""
    spec = specc.load(Path(path), target="cpu", overrides=overrides)
    with spec.build() as training:
        return [numbers(row) for row in training.train()]


def shapes(path: str, overrides: tuple[str, ...]) -> tuple[bool, str]:
    """Whether this rank holds what the Plan says, and its mesh in words."""
    spec = specc.load(Path(path), target="cpu", overrides=overrides)
    with spec.build() as training:
        planned = sorted(holding(training.facts, dist.get_rank()), key=lambda t: t.name)
        built = sorted(held(training.model), key=lambda t: t.name)
        mesh = training.mesh
        words = "none" if mesh is None else f"{mesh.mesh_dim_names} {tuple(mesh.shape)}"
        return planned == built, words


def wrong_world(path: str) -> str:
    """What is said of a spec that wants another number of ranks."""
    try:
        specc.load(Path(path), target="cpu", world=3).build()
    except specc.SpeccError as error:
        return f"{error}"
    return ""


def left_after_closing(path: str) -> tuple[bool, list[str], int]:
    """Whether a process group is left, what of the model could still hold it, and its weights."""
    for name in ("RANK", "WORLD_SIZE"):  # alone, not under torchrun
        del os.environ[name]
    with specc.load(Path(path), target="cpu", world=1).build() as training:
        assert "reducer" in vars(training.model)
    holding_on = [name for name in ("reducer", "logger") if name in vars(training.model)]
    return dist.is_initialized(), holding_on, sum(p.numel() for p in training.model.parameters())
