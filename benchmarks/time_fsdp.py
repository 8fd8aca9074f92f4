"""An FSDP2 step of the lesson's own code, of one tuned by hand, and of what specc emits.

    python -m benchmarks.time_fsdp

Two gloo ranks, the same units and precision in all three: TinyLLM with 8 blocks, smaller than in
the lesson, so that a CPU holds it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from benchmarks.paired import machine, paired, start_ranks, table
from benchmarks.steps import module_of, spec_of, steps_of, timed_steps

RANKS, STEPS = 2, 2
DEPTH, DIM, VOCAB, ROWS, SEQ = 8, 128, 1024, 4, 64
SIZES = (f"d={DIM}", f"vocab={VOCAB}", f"S={SEQ}", f"depth={DEPTH}", f"B={ROWS}*dp")


class Block(nn.Module):
    """The lesson's block."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.attn = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x [B, T, dim] -> same."""
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class TinyLLM(nn.Module):
    """The lesson's model."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(DIM) for _ in range(DEPTH)])
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x [B, T, dim] -> [B, T, vocab]."""
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def sharded(mesh: DeviceMesh) -> TinyLLM:
    """One unit for each block and one for the rest; bf16 parameters, fp32 reduction."""
    model = TinyLLM()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def lesson_steps(mesh: DeviceMesh) -> Iterator[object]:
    """The lesson's loop, on CPU."""
    model = sharded(mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    step = 0
    while True:
        x = torch.randn(ROWS, SEQ, DIM)
        loss = model(x).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            loss.item()
        step += 1
        yield loss


def tuned_steps(mesh: DeviceMesh) -> Iterator[object]:
    """The same mathematics with a fused optimizer."""
    model = sharded(mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    while True:
        loss = model(torch.randn(ROWS, SEQ, DIM)).mean(dtype=torch.float32)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.detach()


def time_fsdp() -> str:
    """The table of one run."""
    mesh = init_device_mesh("cpu", (RANKS,))
    emitted = module_of(spec_of("tinyllm.spec", SIZES, RANKS).script(), "emitted_fsdp")
    variants = {
        "the lesson's code": timed_steps(lesson_steps(mesh), STEPS),
        "tuned by hand": timed_steps(tuned_steps(mesh), STEPS),
        "emitted by specc": timed_steps(steps_of(emitted), STEPS),
        "the same, data drawn before": timed_steps(steps_of(emitted, drawn=2), STEPS),
    }
    return table(f"An FSDP2 step on {RANKS} gloo ranks", paired(variants))


def main() -> int:
    """Start the ranks; in a rank, measure, and print on the first."""
    if "RANK" not in os.environ:
        return start_ranks(__file__, RANKS)
    dist.init_process_group("gloo")
    text = time_fsdp()
    if dist.get_rank() == 0:
        print(text, machine(torch=torch.__version__), sep="\n", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
