"""A checkpoint is whole or not there; what cannot be loaded is said."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from torch import nn

from specc.parts.checkpoint import load, save

pytestmark = pytest.mark.usefixtures("world_of_one")

Training = tuple[nn.Sequential, torch.optim.Optimizer]
OptimizerOf = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


def build(width: int = 8, seed: int = 0, lr: float = 1e-2, weight_decay: float = 0.1) -> Training:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2))
    return model, torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)


def train(training: Training, steps: range) -> list[float]:
    model, optimizer = training
    losses = []
    for step in steps:
        x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_training_goes_on_bitwise_as_if_never_stopped(tmp_path: Path) -> None:
    first = build()
    train(first, range(3))
    save(*first, 3, str(tmp_path))
    expected = train(first, range(3, 6))

    second = build(seed=1)
    start = load(*second, str(tmp_path), "latest")

    assert start == 3
    assert train(second, range(start, 6)) == expected
    assert names(tmp_path) == {"step_3", "latest"}


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adafactor(p, lr=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    ],
    ids=["sgd", "momentum", "adafactor", "fused"],
)
def test_any_optimizer_goes_on(tmp_path: Path, make: OptimizerOf) -> None:
    model, other = build()[0], build(seed=1)[0]
    first, second = (model, make(model.parameters())), (other, make(other.parameters()))
    train(first, range(3))
    save(*first, 3, str(tmp_path))

    load(*second, str(tmp_path), "latest")

    assert train(second, range(3, 6)) == train(first, range(3, 6))


def test_parameter_groups_may_differ(tmp_path: Path) -> None:
    def grouped(seed: int) -> Training:
        model = build(seed=seed)[0]
        decay = [p for p in model.parameters() if p.dim() > 1]
        rest = [p for p in model.parameters() if p.dim() == 1]
        groups = [{"params": decay}, {"params": rest, "weight_decay": 0.0, "lr": 1e-3}]
        return model, torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.1)

    first, second = grouped(0), grouped(1)
    train(first, range(3))
    save(*first, 3, str(tmp_path))

    load(*second, str(tmp_path), "latest")

    assert train(second, range(3, 6)) == train(first, range(3, 6))


def test_settings_of_the_optimizer_stay_those_of_the_script(tmp_path: Path) -> None:
    first, second = build(), build(lr=5e-3, weight_decay=0.3)
    train(first, range(1))
    save(*first, 1, str(tmp_path))

    load(*second, str(tmp_path), "latest")

    assert [second[1].param_groups[0][name] for name in ("weight_decay", "lr")] == [0.3, 5e-3]


def test_what_a_killed_save_left_is_no_checkpoint_and_does_not_hinder_the_next(
    tmp_path: Path,
) -> None:
    training = build()
    save(*training, 1, str(tmp_path))
    train(training, range(1, 2))
    save(*training, 2, str(tmp_path))
    (tmp_path / "step_2").rename(tmp_path / "step_2.tmp")  # as before its last rename
    (tmp_path / "step_2.tmp" / ".metadata").unlink()
    (tmp_path / "latest").write_text("step_1\n", encoding="utf-8")

    assert load(*build(seed=1), str(tmp_path), "latest") == 1
    save(*training, 2, str(tmp_path))
    assert load(*build(seed=1), str(tmp_path), "latest") == 2
    assert names(tmp_path) == {"step_1", "step_2", "latest"}


def test_a_checkpoint_that_is_there_is_left_alone_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = build(), build(seed=1)
    save(*first, 1, str(tmp_path))
    before = {path: path.read_bytes() for path in (tmp_path / "step_1").iterdir()}

    save(*second, 1, str(tmp_path))

    assert {path: path.read_bytes() for path in (tmp_path / "step_1").iterdir()} == before
    assert "step_1 is there already and stays as it is" in capsys.readouterr().out


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    training = build()
    (tmp_path / "step_notes").mkdir()
    for step in (5, 10, 15, 100):
        save(*training, step, str(tmp_path), keep=2)

    assert names(tmp_path) == {"step_15", "step_100", "step_notes", "latest"}


def test_later_checkpoints_of_another_run_are_not_removed(tmp_path: Path) -> None:
    training = build()
    for step in (5, 10, 15):
        save(*training, step, str(tmp_path))
    save(*training, 7, str(tmp_path), keep=1)

    assert names(tmp_path) == {"step_7", "step_10", "step_15", "latest"}
    assert load(*training, str(tmp_path), "latest") == 7


def test_a_checkpoint_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    training = build()
    for step in (1, 2):
        save(*training, step, str(tmp_path / "here"))

    assert load(*training, str(tmp_path / "here"), "step_1") == 1
    assert load(*training, str(tmp_path / "elsewhere"), str(tmp_path / "here" / "step_2")) == 2


def test_a_missing_checkpoint_is_said_with_those_there(tmp_path: Path) -> None:
    training = build()
    for step in (5, 10):
        save(*training, step, str(tmp_path))

    with pytest.raises(SystemExit, match=r"no checkpoint `step_7`; there is step_5, step_10$"):
        load(*training, str(tmp_path), "step_7")
    with pytest.raises(SystemExit, match=r"nothing: no checkpoint `latest`; there is none$"):
        load(*training, str(tmp_path / "nothing"), "latest")


def test_an_incomplete_checkpoint_is_said(tmp_path: Path) -> None:
    training = build()
    save(*training, 5, str(tmp_path))
    shutil.copytree(tmp_path / "step_5", tmp_path / "step_6")
    (tmp_path / "step_5" / "__0_0.distcp").unlink()
    (tmp_path / "step_6" / ".metadata").unlink()

    with pytest.raises(SystemExit, match=r"step_5 lacks __0_0\.distcp"):
        load(*training, str(tmp_path), "step_5")
    with pytest.raises(SystemExit, match="step_6: no checkpoint, or one whose save did not end"):
        load(*training, str(tmp_path), "step_6")


def test_another_model_is_said_by_name_and_shape(tmp_path: Path) -> None:
    save(*build(width=8), 5, str(tmp_path))
    wide, wide_optimizer = build(width=16)
    model = nn.Sequential(*wide, nn.Linear(2, 2))

    with pytest.raises(SystemExit) as told:
        load(wide, wide_optimizer, str(tmp_path), "latest")
    lines = str(told.value).splitlines()
    assert lines[:4] == [
        f"{tmp_path}/step_5 holds another model",
        "  model.0.bias: (8,) there, (16,) here",
        "  model.0.weight: (8, 4) there, (16, 4) here",
        "  model.2.weight: (2, 8) there, (2, 16) here",
    ]
    assert lines[-1] == "  optimizer.2.weight.exp_avg_sq: (2, 8) there, (2, 16) here"
    with pytest.raises(SystemExit, match=r"model\.3\.weight: nothing there, \(2, 2\) here"):
        load(model, torch.optim.SGD(model.parameters()), str(tmp_path), "latest")


def test_another_optimizer_is_said_by_what_it_gathers(tmp_path: Path) -> None:
    training = build()
    save(*training, 5, str(tmp_path))
    model = training[0]

    with pytest.raises(
        SystemExit, match=r"holds another optimizer\n  optimizer\.0\.bias\.exp_avg: "
    ):
        load(model, torch.optim.SGD(model.parameters()), str(tmp_path), "latest")


def test_parameters_may_be_grouped_anew(tmp_path: Path) -> None:
    first = build()
    train(first, range(3))
    save(*first, 3, str(tmp_path))
    model = build(seed=1)[0]
    weights, biases = [model[0].weight, model[2].weight], [model[0].bias, model[2].bias]
    groups = [{"params": biases}, {"params": weights}]
    second = model, torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.1)

    load(*second, str(tmp_path), "latest")

    assert train(second, range(3, 6)) == train(first, range(3, 6))
