"""Causal ring attention, forward and backward: ranks in plain order, and in zigzag order.

    python -m benchmarks.time_ring [RANKS]

Gloo ranks with one thread each; a figure is wall time until the last rank is done. With more ranks
than cores the ranks take turns, and only the work in all is seen.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.paired import machine, paired, start_ranks, table
from specc.parts.ring import ring_attention
from specc.parts.zigzag import zigzag_attention

RANKS = 2
HEADS, KEY_HEADS, WIDTH = 4, 4, 64
TOKENS = (256, 1024, 4096)  # of a rank


def attending(attend: Callable[..., Any], tokens: int) -> Callable[[], float]:
    """Attention and its gradients as a variant; all ranks begin together."""
    shapes = [(1, tokens, heads, WIDTH) for heads in (HEADS, KEY_HEADS, KEY_HEADS, HEADS)]
    *leaves, gradient = (torch.randn(shape) for shape in shapes)
    leaves = [leaf.requires_grad_() for leaf in leaves]

    def run() -> float:
        dist.barrier()
        start = time.perf_counter()
        torch.autograd.grad(attend(*leaves, dist.group.WORLD), leaves, gradient)
        dist.barrier()
        return time.perf_counter() - start

    return run


def time_ring(tokens: int) -> str:
    """The table of one length."""
    plain: Any = ring_attention  # torch's decorator has no type of its own
    variants = {
        "ring": attending(partial(plain, causal=True), tokens),
        "ring(zigzag = true)": attending(zigzag_attention, tokens),
    }
    title = f"Causal ring attention, {tokens:,} tokens on each of {dist.get_world_size()} ranks"
    return table(title, paired(variants))


def main() -> int:
    """Start the ranks; in a rank, measure, and print on the first."""
    if "RANK" not in os.environ:
        return start_ranks(__file__, int(sys.argv[1]) if len(sys.argv) > 1 else RANKS)
    dist.init_process_group("gloo")
    for tokens in TOKENS:
        text = time_ring(tokens)
        if dist.get_rank() == 0:
            print(text, flush=True)
    if dist.get_rank() == 0:
        print(machine(torch=torch.__version__), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
