"""What each rank of the stand-in's tests does; rank 0 writes what it found as JSON.

torchrun --standalone --nproc-per-node=2 -m tests.standin.ranks FOLDER
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch._C._distributed_c10d import _make_nccl_premul_sum
from torch.distributed import _functional_collectives as functional
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.distributed_c10d import _get_default_group
from torch.distributed.tensor import DTensor

from specc.runtime.recorder import Recorder
from tests.standin import training


def train() -> dict[str, Any]:
    """Losses and norms of the training, its collectives, and where its parameters are."""
    recorder = Recorder()
    original = training.init_device_mesh

    def named_mesh(*args: Any, **keywords: Any) -> DeviceMesh:
        mesh = original(*args, **keywords)
        recorder.add_mesh(mesh)
        return mesh

    training.init_device_mesh = named_mesh
    with recorder:
        model, history = training.main()
    return {
        "losses": [loss for loss, _ in history],
        "norms": [norm for _, norm in history],
        "collectives": recorder.table(),
        "devices": sorted({str(local(param).device) for param in model.parameters()}),
        "checkpoint": checkpoint_comes_back(model, Path(sys.argv[1]) / "checkpoint"),
    }


def local(param: torch.Tensor) -> torch.Tensor:
    return param.to_local() if isinstance(param, DTensor) else param


@torch.no_grad()
def checkpoint_comes_back(model: torch.nn.Module, folder: Path) -> bool:
    """Whether a saved model is the same after its parameters were cleared and loaded."""
    before = [local(param).clone() for param in model.parameters()]
    save({"model": model.state_dict()}, checkpoint_id=folder)
    for param in model.parameters():
        local(param).zero_()
    state = {"model": model.state_dict()}
    load(state, checkpoint_id=folder)
    model.load_state_dict(state["model"])
    return all(
        torch.equal(old, local(param))
        for old, param in zip(before, model.parameters(), strict=True)
    )


def results(device: torch.device) -> dict[str, Any]:
    """What the collectives that mccl takes give, as numbers."""
    rank, world = dist.get_rank(), dist.get_world_size()
    ours = torch.tensor([1.0, 2.0], device=device) * (rank + 1)
    shard = torch.empty(2, device=device)
    dist.reduce_scatter_tensor(
        shard, torch.arange(2.0 * world, device=device), op=dist.ReduceOp.AVG
    )
    sent = [torch.full((part + 1,), 10.0 * rank + part, device=device) for part in range(world)]
    received = [torch.empty(rank + 1, device=device) for _ in range(world)]
    dist.all_to_all(received, sent)
    x = torch.arange(4.0, device=device, requires_grad=True)
    y = functional.all_to_all_single_autograd(x, None, None, _get_default_group())
    (y * torch.arange(4.0, device=device)).sum().backward()
    assert x.grad is not None
    host = torch.ones(1)
    dist.all_reduce(host)
    return {
        "avg": reduced(ours, dist.ReduceOp.AVG),
        "avg of int": reduced(torch.tensor([3], device=device) * (rank + 1), dist.ReduceOp.AVG),
        "sum of bool": reduced(ours > 1, dist.ReduceOp.SUM),
        "reduce-scatter avg": shard.tolist(),
        "all-to-all of a list": [part.tolist() for part in received],
        "all-to-all gradient": x.grad.tolist(),
        "sum of cpu tensors": host.tolist(),
    }


def reduced(tensor: torch.Tensor, op: Any) -> list[float]:
    tensor = tensor.clone()
    dist.all_reduce(tensor, op=op)
    return tensor.tolist()


def refused(device: torch.device) -> dict[str, str]:
    """The error of every call that a real node refuses."""
    musa = torch.get_device_module("musa")
    ones = torch.ones(2, 2, device=device)
    query = torch.ones(1, 1, 4, 8, device=device)
    param = torch.nn.Parameter(torch.ones(2, device=device))
    param.grad = torch.ones_like(param)
    only_mccl = dist.new_group(backend="mccl")
    labels = torch.zeros(2, dtype=torch.long, device=device)
    calls: dict[str, Callable[[], object]] = {
        "unknown name": lambda: musa.nvtx,
        "device beyond the node": lambda: musa.set_device(8),
        "premul sum": lambda: reduced(ones, _make_nccl_premul_sum(0.5)),
        "band": lambda: reduced(ones.int(), dist.ReduceOp.BAND),
        "avg of bool": lambda: reduced(ones > 0, dist.ReduceOp.AVG),
        "int16": lambda: reduced(ones.short(), dist.ReduceOp.SUM),
        "other device": lambda: reduced(torch.ones(2, device="musa:7"), dist.ReduceOp.SUM),
        "cpu tensor": lambda: dist.all_reduce(torch.ones(2), group=only_mccl),
        "not contiguous": lambda: dist.all_to_all_single(torch.empty_like(ones), ones.t()),
        "fused AdamW": torch.optim.AdamW([param], fused=True).step,
        "bf16 logits": lambda: F.cross_entropy(ones.bfloat16(), labels),
        "mask and causal": lambda: F.scaled_dot_product_attention(
            query, query, query, attn_mask=torch.ones(4, 4, device=device) > 0, is_causal=True
        ),
        "forgotten host tensor": lambda: F.linear(ones, torch.ones(2, 2)),
        "host generator": lambda: torch.randn(2, device=device, generator=torch.Generator()),
        "not simulated": lambda: musa.graph(None),
    }
    return {name: error_of(call) for name, call in calls.items()}


def error_of(call: Callable[[], object]) -> str:
    """The type and the message of what a call raises; "" if it raises nothing."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  the test says which it expects
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    found = train()
    if training.DEVICE != "cpu":
        musa = torch.get_device_module(training.DEVICE)
        device = torch.device(training.DEVICE, musa.current_device())
        found |= {
            "peak_bytes": musa.max_memory_allocated(),
            "results": results(device),
            "refused": refused(device),
        }
    if dist.get_rank() == 0:
        (Path(sys.argv[1]) / "found.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
