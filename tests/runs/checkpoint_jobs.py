"""Jobs of test_checkpoint.py: a small FSDP training that stops, is killed and goes on."""

import hashlib
import os
import signal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from specc.parts.checkpoint import load, save
from specc.parts.synthetic import draw_normal
from specc.runtime.execute import load_text

B, D = 8, 6

Training = tuple[nn.Module, torch.optim.Optimizer]


def build(seed: int, wrapper: str) -> Training:
    """Nine rows do not divide by two or four ranks, and the bias of one is on one rank only."""
    torch.manual_seed(seed)
    model: nn.Module = nn.Sequential(nn.Linear(D, 9), nn.Tanh(), nn.Linear(9, 5), nn.Linear(5, 1))
    world = dist.get_world_size()
    if wrapper == "fsdp":
        fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    elif wrapper == "hsdp":
        axes = ("replicate", "shard")
        fully_shard(model, mesh=init_device_mesh("cpu", (2, world // 2), mesh_dim_names=axes))
    else:
        model = DistributedDataParallel(model)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def train(training: Training, steps: range) -> list[float]:
    model, optimizer = training
    rows = B // dist.get_world_size()
    first = dist.get_rank() * rows
    losses = []
    for step in steps:
        x = draw_normal((0, "x", step), (B, D), (range(first, first + rows),))
        loss = model(x).square().sum() / rows
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach() / dist.get_world_size()
        dist.all_reduce(total)
        losses.append(total.item())
    return losses


def bits(training: Training) -> str:
    """Digest of all weights and of all that the optimizer has gathered."""
    state = get_state_dict(*training, options=StateDictOptions(full_state_dict=True))
    leaves: dict[str, Tensor] = {}

    def walk(name: str, value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{name}.{key}", inner)
        elif isinstance(value, Tensor):
            leaves[name] = value

    walk("weights", state[0])
    walk("state", state[1]["state"])
    digest = hashlib.sha256()
    for name, leaf in sorted(leaves.items()):
        digest.update(name.encode() + bytes(leaf.flatten().view(torch.uint8).tolist()))
    return digest.hexdigest()


def start(folder: str, wrapper: str) -> tuple[str, list[float]]:
    """Train three steps, save, train three more: digest at the save, losses after it."""
    training = build(0, wrapper)
    train(training, range(3))
    save(*training, 3, folder)
    return bits(training), train(training, range(3, 6))


def go_on(folder: str, wrapper: str) -> tuple[str, list[float]]:
    """Load into other weights and train three steps: digest after the load, losses."""
    training = build(1, wrapper)
    step = load(*training, folder, "latest")
    return bits(training), train(training, range(step, 6))


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_save(folder: str, rank: int) -> None:
    """Save step 3, and step 4 with `rank` killed before it has written its part."""
    training = build(0, "fsdp")
    save(*training, 3, folder)
    if dist.get_rank() == rank:
        FileSystemWriter.write_data = die  # pyright: ignore[reportAttributeAccessIssue]
    save(*training, 4, folder)


def printed(text: str, folder: str, steps: int) -> str:
    """Train a printed text and save it, or load what is there: digest of weights and state."""
    module = load_text(text, "printed")
    model, optimizer = module.build(torch.device("cpu"))
    if steps:
        rows = module.train(model, optimizer, module.batches("cpu", 0))
        for _ in range(steps):
            next(rows)
        save(model, optimizer, steps, folder)
    else:
        load(model, optimizer, folder, "latest")
    names = [name for name, _ in model.named_parameters()]
    state = optimizer.state_dict()["state"].values()
    kept = nn.Module()
    for name, moments in zip(names, state, strict=True):
        for key in ("exp_avg", "exp_avg_sq"):
            kept.register_buffer(f"{name}.{key}".replace(".", "_"), moments[key])
    return module.digest(model) + module.digest(kept)
