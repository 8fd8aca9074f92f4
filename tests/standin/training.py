"""A small training in the form of an emitted script: FSDP2 over dp*cp, Ulysses over cp.

    torchrun --standalone --nproc-per-node=2 training.py

DEVICE "cpu" trains the same model over gloo.
"""

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

DEVICE = os.environ.get("STANDIN_DEVICE", "musa")
BACKEND = "gloo" if DEVICE == "cpu" else "cpu:gloo,musa:mccl"
DP, CP = 1, 2
DEPTH, D, HEADS, VOCAB = 2, 32, 4, 64
BATCH, SEQ, STEPS = 4, 32, 4
SEED = 0

if DEVICE != "cpu":
    import torch_musa  # noqa: F401  registers the device and its backend


class AllToAll(torch.autograd.Function):
    """Exchange equal slices of dim 0; the gradient travels back the same way."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        ctx.group = group
        x = x.contiguous()
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return AllToAll.apply(grads[0], ctx.group), None


class Attention(nn.Module):
    """Causal attention whose heads are spread over cp while it sees all tokens."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.out = nn.Linear(D, D, bias=False)
        self.group = group

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        B, T, _ = x_BTD.shape
        x = self.qkv(x_BTD).view(B, T, CP, -1).permute(2, 0, 1, 3)
        x = AllToAll.apply(x, self.group)  # [CP, B, T, 3 * D / CP], by the rank of the tokens
        x = x.permute(1, 0, 2, 3).reshape(B, CP * T, HEADS // CP, 3, D // HEADS)
        q, k, v = x.permute(3, 0, 2, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(B, CP, T, -1).transpose(0, 1)
        y = AllToAll.apply(y, self.group)  # [CP, B, T, D / CP], by the rank of the heads
        return self.out(y.permute(1, 2, 0, 3).reshape(B, T, D))


class Block(nn.Module):
    """Attention, then two linear layers; both add to their input."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        super().__init__()
        self.attention = Attention(group)
        self.up = nn.Linear(D, 4 * D)
        self.down = nn.Linear(4 * D, D)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(x)
        return x + self.down(F.gelu(self.up(x)))


class Model(nn.Module):
    """Embedding, blocks, logits; returns the mean cross-entropy of this rank's tokens."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D)
        self.blocks = nn.ModuleList(Block(group) for _ in range(DEPTH))
        self.head = nn.Linear(D, VOCAB, bias=False)

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).float().flatten(0, 1), labels.flatten())


def build(mesh: DeviceMesh, storage: DeviceMesh, device: torch.device) -> Model:
    """The sharded model with weights that depend on SEED and name order only."""
    with torch.device("meta"):
        model = Model(mesh.get_group("cp"))
    for block in model.blocks:
        fully_shard(block, mesh=storage)
    fully_shard(model, mesh=storage)
    model.to_empty(device=device)
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for param in model.parameters():
            full = torch.randn(param.shape, generator=generator) * 0.1
            assert isinstance(param, DTensor)
            param.to_local().copy_(full.chunk(DP * CP)[storage.get_local_rank()])
    return model


def batch(step: int, mesh: DeviceMesh, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's ids and labels: its sequences by dp, its part of the tokens by cp."""
    generator = torch.Generator().manual_seed(SEED + 1 + step)
    ids = torch.randint(VOCAB, (BATCH, SEQ + 1), generator=generator)
    ids = ids.chunk(DP)[mesh.get_local_rank("dp")].to(device)
    at = mesh.get_local_rank("cp") * SEQ // CP
    return ids[:, at : at + SEQ // CP], ids[:, at + 1 : at + 1 + SEQ // CP]


def main() -> tuple[nn.Module, list[tuple[float, float]]]:
    """Trains; returns the model, and the loss over all ranks and the gradient norm of each step."""
    device = torch.device(DEVICE)
    if DEVICE != "cpu":
        device = torch.device(DEVICE, int(os.environ["LOCAL_RANK"]))
        torch.get_device_module(DEVICE).set_device(device)
    dist.init_process_group(
        BACKEND,
        timeout=timedelta(minutes=2),
        device_id=None if DEVICE == "cpu" else device,
    )
    mesh = init_device_mesh(DEVICE, (DP, CP), mesh_dim_names=("dp", "cp"))
    storage = init_device_mesh(DEVICE, (DP * CP,), mesh_dim_names=("dp_cp",))
    model = build(mesh, storage, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    history = []
    for step in range(STEPS):
        loss = model(*batch(step, mesh, device))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        assert isinstance(norm, DTensor)
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        history.append((total.item() / (DP * CP), norm.full_tensor().item()))
    return model, history


if __name__ == "__main__":
    print(main()[1])
