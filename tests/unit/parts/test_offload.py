"""A step on the host is the step; what is moved is where it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from specc.parts.checkpoint import load, save
from specc.parts.groups import parameter_groups
from specc.parts.offload import step_on_host, to_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

Training = tuple[nn.Sequential, torch.optim.Optimizer]
HOST, DEVICE = torch.device("cpu"), torch.device("meta")


def adamw(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=1e-2, fused=True)


def build(
    make: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = adamw,
    *,
    moved: bool,
    seed: int = 0,
) -> Training:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Linear(2, 2))
    optimizer = make(model.parameters())
    if moved:
        step_on_host(optimizer)
    return model, optimizer


def train(training: Training, steps: range) -> list[float]:
    """Losses; the last layer has no gradient in even steps, and the rate falls."""
    model, optimizer = training
    losses = []
    for step in steps:
        x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        used = model if step % 2 else model[:3]
        loss = used(x).square().mean()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (step + 1)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def weights(training: Training) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in training[0].parameters()]


@pytest.mark.parametrize(
    "make",
    [
        adamw,
        lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=True, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    ],
    ids=["fused", "foreach", "momentum"],
)
def test_steps_on_the_host_give_the_same_bits(
    make: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
) -> None:
    moved, plain = build(make, moved=True), build(make, moved=False)

    assert train(moved, range(6)) == train(plain, range(6))
    assert all(map(torch.equal, weights(moved), weights(plain)))


def test_groups_keep_their_settings() -> None:
    def grouped(*, moved: bool) -> Training:
        model = build(moved=False)[0]
        groups = parameter_groups(model, [({"weight_decay": 0.0}, ["0.bias", "2.bias"])])
        optimizer = torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.5)
        if moved:
            step_on_host(optimizer)
        return model, optimizer

    moved, plain = grouped(moved=True), grouped(moved=False)
    assert train(moved, range(6)) == train(plain, range(6))


def test_between_steps_the_optimizer_has_the_parameters_of_the_model() -> None:
    model, optimizer = build(moved=True)
    train((model, optimizer), range(2))

    own = list(model.parameters())
    assert [id(p) for p in optimizer.param_groups[0]["params"]] == [id(p) for p in own]
    assert set(optimizer.state) == set(own)
    assert all(parameter.grad is None for parameter in own)


def test_weights_that_somebody_changes_between_steps_count() -> None:
    moved, plain = build(moved=True), build(moved=False)
    for training in (moved, plain):
        train(training, range(2))
        with torch.no_grad():
            for parameter in training[0].parameters():
                parameter.mul_(0.5)

    assert train(moved, range(2, 5)) == train(plain, range(2, 5))


@pytest.mark.usefixtures("world_of_one")
@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_a_checkpoint_loads_with_and_without(tmp_path: Path, first: bool, second: bool) -> None:
    saved = build(moved=first)
    train(saved, range(3))
    save(*saved, 3, str(tmp_path))
    expected = train(saved, range(3, 6))

    loaded = build(moved=second, seed=1)
    assert load(*loaded, str(tmp_path), "latest") == 3

    own = list(loaded[0].parameters())
    assert [id(p) for p in loaded[1].param_groups[0]["params"]] == [id(p) for p in own]
    assert set(loaded[1].state) == set(own)
    assert train(loaded, range(3, 6)) == expected


class Tied(nn.Module):
    """An embedding, a part with a buffer of its own, and a head with the embedding's weight."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(4, 3)
        self.norms = nn.ModuleList(nn.BatchNorm1d(3) for _ in range(2))
        self.head = nn.Linear(3, 4, bias=False)
        self.head.weight = self.embed.weight


def test_memory_is_where_the_names_say_and_buffers_are_on_the_device() -> None:
    with torch.device("meta"):
        model = Tied()
    to_empty(model, DEVICE, ["norms.*.weight", "norms.*.bias"])

    places = {name: tensor.device for name, tensor in model.named_parameters()}
    assert {name for name, place in places.items() if place == HOST} == {
        f"norms.{i}.{name}" for i in range(2) for name in ("weight", "bias")
    }
    assert {buffer.device for buffer in model.buffers()} == {DEVICE}
    assert set(model.state_dict()) == set(Tied().state_dict())
