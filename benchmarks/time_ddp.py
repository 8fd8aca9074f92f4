"""A DDP step of the lesson's own code, of one tuned by hand, and of what specc emits.

    python -m benchmarks.time_ddp

Two gloo ranks, 29,369,344 parameters, 32 rows a rank; sizes are those of the lesson.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.paired import machine, paired, start_ranks, table
from benchmarks.steps import module_of, spec_of, steps_of, timed_steps

RANKS, STEPS = 2, 2
ROWS, WIDE, HIDDEN, OUT = 32, 2048, 4096, 1024


def toy_model() -> nn.Module:
    """The lesson's network."""
    return nn.Sequential(
        nn.Linear(WIDE, HIDDEN),
        nn.GELU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.GELU(),
        nn.Linear(HIDDEN, OUT),
    )


def lesson_steps() -> Iterator[object]:
    """The lesson's loop, on CPU: DDP and AdamW as they come, new noise for every step."""
    model = DistributedDataParallel(toy_model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    step = 0
    while True:
        x = torch.randn(ROWS, WIDE)
        y = torch.randn(ROWS, OUT)
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            loss.item()
        step += 1
        yield loss


def tuned_steps() -> Iterator[object]:
    """The same mathematics, tuned: fused AdamW, gradients in the buckets, a static graph."""
    model = DistributedDataParallel(toy_model(), gradient_as_bucket_view=True, static_graph=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    while True:
        x, y = torch.randn(ROWS, WIDE), torch.randn(ROWS, OUT)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.detach()


def time_ddp() -> str:
    """The table of one run."""
    emitted = module_of(spec_of("toy_ddp.spec", [], RANKS).script(), "emitted_ddp")
    variants = {
        "the lesson's code": timed_steps(lesson_steps(), STEPS),
        "tuned by hand": timed_steps(tuned_steps(), STEPS),
        "emitted by specc": timed_steps(steps_of(emitted), STEPS),
        "the same, data drawn before": timed_steps(steps_of(emitted, drawn=2), STEPS),
    }
    return table(f"A DDP step on {RANKS} gloo ranks", paired(variants))


def main() -> int:
    """Start the ranks; in a rank, measure, and print on the first."""
    if "RANK" not in os.environ:
        return start_ranks(__file__, RANKS)
    dist.init_process_group("gloo")
    text = time_ddp()
    if dist.get_rank() == 0:
        print(text, machine(torch=torch.__version__), sep="\n", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
