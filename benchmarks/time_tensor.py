"""A step under tensor and sequence parallel: emitted by specc, written by hand, and by torch.

    python -m benchmarks.time_tensor [--parts]

Two gloo ranks, `tensor.spec` beside this file, the same weights, batches and losses in all. With
`--parts`, the emitted step with one of its parts replaced each time, to see what that part costs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import cycle, islice
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

from benchmarks.paired import clocked, machine, paired, start_ranks, table
from benchmarks.steps import CPU, module_of, spec_of, steps_of, timed_steps

RANKS, STEPS, DRAWN = 2, 1, 4
VOCAB, DIM, DEPTH, HEADS, HIDDEN = 4096, 256, 4, 4, 640
ROWS, SEQ, THETA, EPS = 4, 256, 5e5, 1e-5
LR, CLIP = 1e-3, 1.0
WIDTH = DIM // HEADS
SIZES = (
    *(f"vocab={VOCAB}", f"d={DIM}", f"depth={DEPTH}", f"heads={HEADS}", f"kv={HEADS}"),
    *(f"ff={HIDDEN}", f"S={SEQ}", f"B={ROWS}*dp"),
)
SPEC = str(Path(__file__).with_name("tensor.spec"))
COLUMNS = ("wq", "wk", "wv", "gate", "up", "head", "embed")  # split by rows of the weight
ROW_LINEARS = ("wo", "down")  # split by columns of it
GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor

Batches = Iterator[tuple[Tensor, Tensor]]


# ------------------------------------------------------------------------------------ by hand


def gathered(x: Tensor) -> Tensor:
    """The tokens of all ranks; tokens are the first dim, so nothing is copied around it."""
    out = x.new_empty((x.shape[0] * RANKS, *x.shape[1:]))
    GATHER(out, x.contiguous())
    return out


def scattered(x: Tensor) -> Tensor:
    """This rank's tokens of the sum over ranks."""
    out = x.new_empty((x.shape[0] // RANKS, *x.shape[1:]))
    SCATTER(out, x.contiguous())
    return out


class Gather(torch.autograd.Function):
    """All tokens; the gradient is summed, and each rank takes that of its tokens."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Shapes: [S / n, ..] -> [S, ..]."""
        del ctx
        return gathered(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """The transpose."""
        del ctx
        return scattered(grads[0])


class Scatter(torch.autograd.Function):
    """This rank's tokens of the sum over ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Shapes: [S, ..] -> [S / n, ..]."""
        del ctx
        return scattered(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """The transpose."""
        del ctx
        return gathered(grads[0])


class SplitLoss(torch.autograd.Function):
    """Mean cross-entropy of logits whose classes are split over ranks, as in Megatron-LM."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        """Shapes: logits [N, V / n], labels [N] -> []."""
        largest = logits.amax(dim=-1)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        logits = logits - largest.unsqueeze(-1)
        own = labels - dist.get_rank() * logits.shape[-1]
        elsewhere = (own < 0) | (own >= logits.shape[-1])
        own = own.masked_fill_(elsewhere, 0).unsqueeze(-1)
        target = logits.gather(-1, own).squeeze(-1).masked_fill_(elsewhere, 0.0)
        weights = logits.exp_()
        sums = torch.stack([weights.sum(dim=-1), target])
        dist.all_reduce(sums)
        weights.div_(sums[0].unsqueeze(-1))
        ctx.save_for_backward(weights, own, elsewhere)
        return (sums[0].log() - sums[1]).mean()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Softmax less one at the label."""
        weights, own, elsewhere = ctx.saved_tensors
        weights.scatter_add_(-1, own, elsewhere.unsqueeze(-1).to(weights.dtype) - 1.0)
        return weights.mul_(grads[0] / weights.shape[0]), None


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions. Shapes: [S, B, H, E] -> same."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def angles() -> tuple[Tensor, Tensor]:
    """Cosine and sine for every token, each [S, 1, 1, E / 2]."""
    frequencies = THETA ** -(torch.arange(0, WIDTH, 2, dtype=torch.float32) / WIDTH)
    found = torch.outer(torch.arange(SEQ, dtype=torch.float32), frequencies)[:, None, None]
    return found.cos(), found.sin()


class ByHand:
    """The model on one rank: plain tensors, tokens first, and a collective where one is needed."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self.weights = {name: self.piece(name, whole) for name, whole in weights.items()}
        self.cos, self.sin = angles()

    @staticmethod
    def piece(name: str, whole: Tensor) -> Tensor:
        """What this rank keeps of a weight."""
        layer = name.split(".")[-2]
        if layer in COLUMNS:
            whole = whole.chunk(RANKS, 0)[dist.get_rank()]
        if layer in ROW_LINEARS:
            whole = whole.chunk(RANKS, 1)[dist.get_rank()]
        return whole.clone().requires_grad_()

    def norm(self, x: Tensor, name: str) -> Tensor:
        """RMSNorm of this rank's tokens."""
        return F.rms_norm(x, (DIM,), self.weights[f"{name}.weight"], EPS)

    def linear(self, x: Tensor, name: str) -> Tensor:
        """A product with this rank's part of a weight."""
        return F.linear(x, self.weights[f"{name}.weight"])

    def attention(self, x: Tensor, path: str) -> Tensor:
        """Shapes: [S / n, B, d] -> same."""
        x = Gather.apply(x)
        heads = (HEADS // RANKS, WIDTH)
        q, k, v = (self.linear(x, f"{path}.{name}").unflatten(-1, heads) for name in COLUMNS[:3])
        q, k = turned(q, self.cos, self.sin), turned(k, self.cos, self.sin)
        q, k, v = (each.permute(1, 2, 0, 3) for each in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return Scatter.apply(self.linear(out.permute(2, 0, 1, 3).flatten(2), f"{path}.wo"))

    def ffn(self, x: Tensor, path: str) -> Tensor:
        """Shapes: [S / n, B, d] -> same."""
        x = Gather.apply(x)
        h = F.silu(self.linear(x, f"{path}.gate")) * self.linear(x, f"{path}.up")
        return Scatter.apply(self.linear(h, f"{path}.down"))

    def loss(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Shapes: ids and labels [B, S] -> []."""
        table = self.weights["embed.weight"]
        own = ids.t() - dist.get_rank() * table.shape[0]
        elsewhere = (own < 0) | (own >= table.shape[0])
        rows = F.embedding(own.masked_fill_(elsewhere, 0), table)
        x = Scatter.apply(rows.masked_fill(elsewhere.unsqueeze(-1), 0.0))
        for i in range(DEPTH):
            x = x + self.attention(self.norm(x, f"blocks.{i}.attn_norm"), f"blocks.{i}.attn")
            x = x + self.ffn(self.norm(x, f"blocks.{i}.ffn_norm"), f"blocks.{i}.ffn")
        logits = self.linear(Gather.apply(self.norm(x, "norm")), "head")
        return SplitLoss.apply(logits.flatten(0, 1), labels.t().flatten())


@torch.no_grad()
def sum_and_clip(split: list[Tensor], whole: list[Tensor]) -> None:
    """Sum the gradients of whole weights over ranks, and clip all by their norm."""
    own = [w.grad for w in whole if w.grad is not None]
    flat = torch.cat(own)
    dist.all_reduce(flat)
    for gradient, total in zip(own, flat.split([g.numel() for g in own]), strict=True):
        gradient.copy_(total)
    square = nn.utils.get_total_norm([w.grad for w in split if w.grad is not None]).square()
    dist.all_reduce(square)
    norm = (square + flat.square().sum()).sqrt()
    nn.utils.clip_grads_with_norm_([*split, *whole], CLIP, norm)


def hand_steps(weights: Mapping[str, Tensor], batches: Batches) -> Iterator[Tensor]:
    """Losses of the training written by hand."""
    model = ByHand(weights)
    whole = [w for name, w in model.weights.items() if name.split(".")[-2].endswith("norm")]
    split = [w for name, w in model.weights.items() if not name.split(".")[-2].endswith("norm")]
    optimizer = torch.optim.AdamW([*split, *whole], lr=LR, fused=True)
    for ids, labels in batches:
        loss = model.loss(ids, labels)
        loss.backward()
        sum_and_clip(split, whole)
        optimizer.step()
        optimizer.zero_grad()
        yield loss.detach()


# ------------------------------------------------------------------------------------ by torch


class Attention(nn.Module):
    """Attention as one process would have it; torch splits its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))
        self.cos, self.sin = (each.squeeze(1) for each in angles())

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: [B, S, d] -> same."""
        q, k, v = (layer(x).unflatten(-1, (-1, WIDTH)) for layer in (self.wq, self.wk, self.wv))
        q, k = turned(q, self.cos, self.sin), turned(k, self.cos, self.sin)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """The feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(DIM, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: [B, S, d] -> same."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Both, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.attn_norm, self.ffn_norm = nn.RMSNorm(DIM, EPS), nn.RMSNorm(DIM, EPS)
        self.attn, self.ffn = Attention(), SwiGLU()

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: [B, S, d] -> same."""
        x = x + self.attn(self.attn_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class Llama(nn.Module):
    """The model of the spec, with its names."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.RMSNorm(DIM, EPS)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Shapes: [B, S] -> [B, S, vocab]."""
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def torch_model(weights: Mapping[str, Tensor]) -> nn.Module:
    """The model with its layers split as torch's tutorial says, sequence parallel."""
    model, mesh = Llama(), init_device_mesh("cpu", (RANKS,))
    model.load_state_dict(dict(weights))
    whole = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    columns, rows = ColwiseParallel(), RowwiseParallel(output_layouts=Shard(1))
    block: dict[str, Any] = {
        "attn_norm": SequenceParallel(),
        "attn": whole,
        **{f"attn.{name}": columns for name in ("wq", "wk", "wv")},
        "attn.wo": rows,
        "ffn_norm": SequenceParallel(),
        "ffn": whole,
        **{f"ffn.{name}": columns for name in ("gate", "up")},
        "ffn.down": rows,
    }
    plan: dict[str, Any] = {
        "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        **{f"blocks.{i}.{name}": style for i in range(DEPTH) for name, style in block.items()},
        "norm": SequenceParallel(),
        "head": ColwiseParallel(
            input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False
        ),
    }
    return parallelize_module(model, mesh, plan)


def torch_steps(weights: Mapping[str, Tensor], batches: Batches) -> Iterator[Tensor]:
    """Losses of the training that torch splits."""
    model = torch_model(weights)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
    for ids, labels in batches:
        with loss_parallel():
            loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        yield whole_of(loss.detach())


# ------------------------------------------------------------------------------------- emitted


def whole_of(tensor: Tensor) -> Tensor:
    """All of a tensor."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def emitted(name: str) -> ModuleType:
    """The printed script of the spec as a module."""
    return module_of(spec_of(SPEC, SIZES, RANKS).script(), name)


def kept_rope(x: Tensor, frequencies: Tensor, begin: int) -> Tensor:
    """Rotary positions from tables that are kept."""
    del frequencies, begin
    return turned(x, *kept_angles())


@cache
def kept_angles() -> tuple[Tensor, Tensor]:
    """Cosine and sine for tokens that come second, each [S, 1, E / 2]."""
    cos, sin = angles()
    return cos.squeeze(1), sin.squeeze(1)


PARTS: dict[str, dict[str, Callable[..., object]]] = {
    "no FSDP2 over one rank": {"shard": lambda *_: None},
    "angles of rope kept": {"rope": kept_rope},
}


def replaced(number: int, parts: Mapping[str, Callable[..., object]]) -> Iterator[Tensor]:
    """Losses of the emitted training with other functions in some places."""
    module = emitted(f"emitted_tensor_{number}")
    for name, function in parts.items():
        assert hasattr(module, name), name
        setattr(module, name, function)
    return emitted_steps(module)


def emitted_steps(module: ModuleType) -> Iterator[Tensor]:
    """Losses of the emitted training."""
    for row in steps_of(module, drawn=DRAWN):
        assert isinstance(row, dict)
        yield row["loss"]


def start(module: ModuleType) -> tuple[dict[str, Tensor], Batches]:
    """Initial weights, whole, and the batches that the emitted training sees."""
    model, _ = module.build(CPU)
    weights = {name: whole_of(p.detach()).clone() for name, p in model.named_parameters()}
    return weights, cycle(list(islice(module.batches(CPU, 0), DRAWN)))


def compare(variants: Mapping[str, Iterator[Tensor]]) -> None:
    """Take three steps of each; their losses must be the same.

    Raises:
        AssertionError: they differ: by 1e-5 in step 0, or by 1e-3 in the steps after it.
    """
    firsts = {name: list(islice(steps, 3)) for name, steps in variants.items()}
    base = next(iter(firsts.values()))
    for name, losses in firsts.items():
        gaps = [abs(float(a) - float(b)) for a, b in zip(losses, base, strict=True)]
        assert gaps[0] < 1e-5, (name, gaps)
        assert max(gaps) < 1e-3, (name, gaps)


def show(text: str) -> None:
    """Print on the first rank."""
    if dist.get_rank() == 0:
        print(text, flush=True)


def worked(title: str, steps: Mapping[str, Iterator[Tensor]]) -> str:
    """CPU time of the first rank, which other processes disturb less."""
    variants = {name: clocked(partial(next, each)) for name, each in steps.items()}
    return table(f"{title}: CPU time of a rank", paired(variants))


def time_tensor() -> None:
    """By hand, emitted, and by torch."""
    module = emitted("emitted_tensor")
    weights, batches = start(module)
    drawn = list(islice(batches, DRAWN))
    variants = {
        "written by hand": hand_steps(weights, cycle(drawn)),
        "emitted by specc": emitted_steps(module),
        "torch's parallelize_module": torch_steps(weights, cycle(drawn)),
    }
    compare(variants)
    title = "A step under tensor and sequence parallel"
    wall = {name: timed_steps(each, STEPS) for name, each in variants.items()}
    show(table(f"{title}: wall clock", paired(wall)))
    show(worked(title, variants))


def time_parts() -> None:
    """The emitted step, and what is saved where a part of it is replaced."""
    everything = {name: each for parts in PARTS.values() for name, each in parts.items()}
    rows = {"emitted by specc": {}, **PARTS, "all of these": everything}
    variants = {name: replaced(i, parts) for i, (name, parts) in enumerate(rows.items())}
    variants["written by hand"] = hand_steps(*start(emitted("emitted_tensor")))
    compare(variants)
    show(worked("The emitted step with parts replaced", variants))


def main() -> int:
    """Start the ranks; in a rank, measure, and print on the first."""
    if "RANK" not in os.environ:
        return start_ranks(__file__, RANKS)
    dist.init_process_group("gloo")
    measure = time_parts if "--parts" in sys.argv[1:] else time_tensor
    measure()
    show(machine(torch=torch.__version__))
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
