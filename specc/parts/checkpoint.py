"""Saves and loads a training: a whole checkpoint or none, on the same mesh or another."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def save(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    step: int,
    folder: str,
    keep: int | None = None,
) -> None:
    """Write `folder`/step_N, N = `step` steps done, and name it in `folder`/latest.

    All ranks call it, with a folder that all nodes share. The checkpoint takes its name when it is
    whole, so a save that is killed leaves the ones before it as they are. One that is there
    already is left alone, and that is printed.

    Args:
        keep: how many checkpoints up to this one remain; None keeps all.
    """
    path = Path(folder, f"step_{step}")
    unfinished = path.with_suffix(".tmp")
    exists = [path.exists()]
    if dist.get_rank() == 0 and not exists[0]:
        shutil.rmtree(unfinished, ignore_errors=True)  # of a save that was killed
        unfinished.mkdir(parents=True)
    dist.broadcast_object_list(exists, src=0)
    if exists[0]:
        if dist.get_rank() == 0:
            print(f"{path} is there already and stays as it is: step {step} is not saved")
        return
    weights, gathered = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": gathered["state"], "step": torch.tensor(step)}
    state_dict_saver.save(state, checkpoint_id=unfinished)
    dist.barrier()
    if dist.get_rank() == 0:
        check_whole(unfinished)
        unfinished.rename(path)
        name_latest(path)
        if keep is not None:
            remove_older(path, keep)
    dist.barrier()


def name_latest(path: Path) -> None:
    """Write the name of `path` into `latest` beside it; a reader sees the old name or the new."""
    fresh = path.with_name("latest.tmp")
    fresh.write_text(f"{path.name}\n", encoding="utf-8")
    fresh.replace(path.with_name("latest"))


def remove_older(path: Path, keep: int) -> None:
    """Remove the oldest checkpoints until `keep` remain up to and with `path`."""
    step = step_of(path)
    older = sorted((p for p in path.parent.glob("step_*") if -1 < step_of(p) < step), key=step_of)
    for old in older[: max(0, len(older) - max(0, keep - 1))]:
        # By its name nobody may find a checkpoint that is half removed.
        shutil.rmtree(old.rename(old.with_suffix(".tmp")))


def step_of(path: Path) -> int:
    """The step in a checkpoint's name, -1 if it is not one."""
    number = path.name.removeprefix("step_")
    return int(number) if number.isdecimal() else -1


def load(
    model: nn.Module, optimizer: torch.optim.Optimizer, folder: str, which: str = "latest"
) -> int:
    """Load a checkpoint into `model` and `optimizer`; returns the step to go on with.

    The mesh may be another than that of the save. Learning rate, weight decay and the like stay as
    the script says; what the optimizer has gathered comes from the checkpoint.

    Args:
        which: "latest", a name such as "step_500", or a path.

    Exits with a message if there is no such checkpoint, or it is not whole or of another model.
    """
    path = find_checkpoint(Path(folder), which)
    weights, gathered = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": gathered["state"], "step": torch.tensor(0)}
    check_same(path, check_whole(path), state)
    state_dict_loader.load(state, checkpoint_id=path)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict={**gathered, "state": state["optimizer"]},
    )
    return int(state["step"])


def find_checkpoint(folder: Path, which: str) -> Path:
    """The checkpoint `which` in `folder`; exits with a message that lists those there if none."""
    name = which
    if which == "latest" and (folder / "latest").is_file():
        name = (folder / "latest").read_text(encoding="utf-8").strip()
    for path in (folder / name, Path(name)):
        if path.is_dir():
            return path
    there = sorted((p.name for p in folder.glob("step_*")), key=lambda n: step_of(Path(n)))
    raise SystemExit(f"{folder}: no checkpoint `{name}`; there is {', '.join(there) or 'none'}")


def check_whole(path: Path) -> Metadata:
    """The table of contents of a checkpoint; exits with a message if a file of it is missing."""
    if not (path / ".metadata").is_file():
        raise SystemExit(f"{path}: no checkpoint, or one whose save did not end")
    metadata = FileSystemReader(path).read_metadata()
    files = {info.relative_path for info in (metadata.storage_data or {}).values()}
    if missing := sorted(file for file in files if not (path / file).is_file()):
        raise SystemExit(
            f"{path} lacks {', '.join(missing)}: all nodes must write to one shared folder"
        )
    return metadata


def check_same(path: Path, metadata: Metadata, state: dict) -> None:
    """Exit with a message if names or shapes in a checkpoint are not those of `state`."""
    saved = {
        name: tuple(entry.size)
        for name, entry in metadata.state_dict_metadata.items()
        if isinstance(entry, TensorStorageMetadata)
    }
    own = {name: tuple(tensor.shape) for name, tensor in named_tensors(state)}
    lines = [
        f"\n  {name}: {saved.get(name, 'nothing')} there, {own.get(name, 'nothing')} here"
        for name in sorted(saved.keys() | own.keys())
        if saved.get(name) != own.get(name)
    ]
    if lines:
        more = [f"\n  and {len(lines) - 10} more"] if len(lines) > 10 else []
        what = "model" if any(line.startswith("\n  model.") for line in lines) else "optimizer"
        raise SystemExit("".join([f"{path} holds another {what}", *lines[:10], *more]))


def named_tensors(state: dict, prefix: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a nested dict, under the names that a checkpoint gives them."""
    for name, value in state.items():
        if isinstance(value, torch.Tensor):
            yield f"{prefix}{name}", value
        elif isinstance(value, dict):
            yield from named_tensors(value, f"{prefix}{name}.")
