"""Jobs of the tests of the model's parts on meshes; a job lies in a module that ranks import."""

import hashlib
import math

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from specc.parts.attention import attention, capped_attention, window_attention
from specc.parts.dropout import Dropout, seed_dropout
from specc.parts.gradients import clip_gradients, gradient_norm
from specc.parts.init import constant, digest, init_weights, normal, trunc_normal, uniform
from specc.parts.rms_norm import RMSNorm
from specc.parts.rope import rope, rope_frequencies
from specc.parts.ulysses import heads_to_tokens, repeat_heads, tokens_to_heads

# --- weights and gradients ----------------------------------------------------------------------


class Block(nn.Module):
    """A unit of its own: sizes that no mesh divides, a scale, a stack of matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = RMSNorm(6, 1e-6)
        self.up = nn.Linear(6, 7)
        self.stack = nn.Parameter(torch.ones(3, 5, 6))

    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.tanh(self.up(self.norm(x)))[..., :6]
        return x + torch.einsum("nd,ked->nd", x, self.stack)


class Model(nn.Module):
    """Weights of many blocks of rows, of one row, and tied."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(45_001, 6)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(6, 45_001, bias=False)
        self.head.weight = self.embed.weight
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x) * self.scale


TABLE = {
    "embed.weight": normal(0.02),
    "blocks.*.norm.weight": constant(1.0),
    "blocks.*.up.weight": uniform(0.4),
    "blocks.*.up.bias": normal(0.1),
    "blocks.*.stack": trunc_normal(0.1),
    "scale": constant(0.5),
}
LAYOUTS = {  # name -> shape of the mesh for a world
    "plain": lambda _: None,
    "fsdp": lambda world: (world,),
    "replicated": lambda world: (world, 1),
    "hsdp": lambda world: (2, world // 2),
}


def built(layout: str, *, mixed: bool = False) -> Model:
    """The model with its weights drawn; when mixed, only its blocks are sharded."""
    shape = LAYOUTS[layout](dist.get_world_size())
    with torch.device("meta"):
        model = Model()
    if shape is not None:
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard")[-len(shape) :])
        for unit in (*model.blocks, *(() if mixed else (model,))):
            fully_shard(unit, mesh=mesh)
    model.to_empty(device="cpu")
    model.head.weight = model.embed.weight  # a plain module loses its tie in to_empty
    init_weights(model, TABLE, seed=3)
    return model


def whole(x: Tensor) -> Tensor:
    return x.full_tensor() if isinstance(x, DTensor) else x


def bits(x: Tensor) -> str:
    return hashlib.sha256(whole(x.detach()).contiguous().numpy().tobytes()).hexdigest()


def weights(layout: str, mixed: bool) -> tuple[str, dict[str, str]]:
    """Digest of all weights, and a hash of the bits of each whole weight."""
    model = built(layout, mixed=mixed)
    return digest(model), {name: bits(p) for name, p in model.named_parameters()}


def set_gradients(model: nn.Module) -> list[Tensor]:
    """Give every parameter a gradient that is the same on all meshes; the whole gradients."""
    gradients = []
    for i, parameter in enumerate(model.parameters()):
        generator = torch.Generator().manual_seed(i)
        gradient = torch.randn(parameter.shape, generator=generator)
        gradients.append(gradient.clone())  # shards may share the memory of what they are cut from
        if isinstance(parameter, DTensor):
            mesh, placements = parameter.device_mesh, parameter.placements
            parameter.grad = distribute_tensor(gradient, mesh, placements, src_data_rank=None)
        else:
            parameter.grad = gradient
    return gradients


def clipped(
    layout: str, mixed: bool, cases: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """For each limit and factor what clipping returns and does."""
    model = built(layout, mixed=mixed)
    return [clipping(model, limit, factor) for limit, factor in cases]


def clipping(model: nn.Module, limit: float, factor: float) -> tuple[float, float]:
    """The norm that clipping returns, over the true one; and the largest error of a gradient."""
    gradients = set_gradients(model)
    norm = clip_gradients(model.parameters(), limit, torch.tensor(factor))
    expected = factor * math.sqrt(sum(g.double().square().sum().item() for g in gradients))
    scale = factor * min(1.0, limit / expected)
    errors = [
        (whole(p.grad) - scale * g).abs().max().item() / scale
        for p, g in zip(model.parameters(), gradients, strict=True)
        if p.grad is not None
    ]
    assert len(errors) == len(gradients)
    return norm.item() / expected, max(errors)


def norm_after_backward() -> tuple[float, float]:
    """Our norm and that of the whole gradients, after a backward pass of FSDP2."""
    model = built("fsdp")
    ids = torch.arange(12) * 7001 % 45_001
    model(ids).logsumexp(-1).sum().backward()
    norm = gradient_norm(model.parameters())
    whole_norm = torch.cat(
        [whole(p.grad).flatten() for p in model.parameters() if p.grad is not None]
    )
    return norm.item(), whole_norm.double().norm().item()


# --- a split of columns under FSDP2 --------------------------------------------------------------

COLUMN_PLAN = {"up": Shard(0), "down": Shard(1), "norm": Replicate()}
COLUMN_TABLE = {"up": normal(1.0), "down": normal(1.0), "norm": normal(1.0)}


class Columns(nn.Module):
    """Weights that a tensor-parallel mesh dim splits by rows, by columns and not at all."""

    def __init__(self, mesh: DeviceMesh | None) -> None:
        super().__init__()
        for name, shape in {"up": (16, 12), "down": (10, 16), "norm": (11,)}.items():
            value = torch.zeros(shape)
            if mesh is not None:
                value = distribute_tensor(value, mesh, [COLUMN_PLAN[name]], src_data_rank=None)
            self.register_parameter(name, nn.Parameter(value))


def columns_under_fsdp() -> tuple[bool, bool, float]:
    """On (dp, tp) = (2, 2): whether bits and digest are those of plain weights; norm over true."""
    plain, mesh = Columns(None), init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    init_weights(plain, COLUMN_TABLE, 0)
    model = Columns(mesh["tp"])
    fully_shard(model, mesh=mesh["dp"])
    init_weights(model, COLUMN_TABLE, 0)
    same = all(
        torch.equal(whole(a.detach()), b)
        for a, b in zip(model.parameters(), plain.parameters(), strict=True)
    )
    for parameter in (*model.parameters(), *plain.parameters()):
        parameter.grad = parameter.detach().clone()
    norm = gradient_norm(model.parameters()) / gradient_norm(plain.parameters())
    return same, digest(model) == digest(plain), norm.item()


# --- Ulysses -------------------------------------------------------------------------------------


def world_group() -> dist.ProcessGroup:
    group = dist.group.WORLD
    assert group is not None
    return group


def ulysses_errors(heads: list[tuple[int, int]], dp: int) -> list[float]:
    """For each pair of head counts the error on a mesh of dp times the rest."""
    cp = dist.get_world_size() // dp
    mesh = init_device_mesh("cpu", (dp, cp), mesh_dim_names=("dp", "cp"))
    group, rank = mesh["cp"].get_group(), mesh["cp"].get_local_rank()
    return [ulysses_error(H, K, group, rank) for H, K in heads]


def ulysses_error(H: int, K: int, group: dist.ProcessGroup, rank: int) -> float:
    """Largest difference to one rank, of values and gradients."""
    cp = dist.get_world_size(group)
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 12, H, 4), (2, 12, K, 4), (2, 12, K, 4), (2, 12, H, 4))
    *qkv, weights = (torch.randn(shape, generator=generator) for shape in shapes)
    for x in qkv:
        x.requires_grad_()
    expected = attention(*qkv, causal=True)
    gradients = torch.autograd.grad(expected, qkv, weights)

    parts = [x.detach().chunk(cp, 1)[rank].requires_grad_() for x in qkv]
    times = math.lcm(K, cp) // K
    q, k, v = parts[0], repeat_heads(parts[1], times), repeat_heads(parts[2], times)
    q, k, v = (tokens_to_heads(x, group) for x in (q, k, v))
    assert q.shape == (2, 12, H // cp, 4)
    actual = heads_to_tokens(attention(q, k, v, causal=True), group)
    part_gradients = torch.autograd.grad(actual, parts, weights.chunk(cp, 1)[rank])
    pairs = zip((actual, *part_gradients), (expected, *gradients), strict=True)
    return max((a - b.chunk(cp, 1)[rank]).abs().max().item() for a, b in pairs)


def ulysses_moves_bits(dtype: torch.dtype) -> tuple[bool, bool]:
    """Whether an exchange gives the right slice, and its inverse the input, to the bit."""
    world, rank = dist.get_world_size(), dist.get_rank()
    x = torch.arange(2 * 3 * world * 2 * world * 5).view(2, 3 * world, 2 * world, 5).to(dtype)
    own = x.chunk(world, 1)[rank].transpose(0, 1).contiguous().transpose(0, 1)  # permuted strides
    heads = tokens_to_heads(own, world_group())
    back = heads_to_tokens(heads, world_group())
    return torch.equal(heads, x.chunk(world, 2)[rank]), torch.equal(back, own)


# --- dropout -------------------------------------------------------------------------------------


class Noisy(nn.Module):
    """Dropout over a batch of eight rows, of which this rank has some."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(64))
        self.drop = nn.ModuleList([Dropout(0.5, (first, 0))])

    def forward(self, x: Tensor) -> Tensor:
        return self.drop[0](x * self.scale)


def dropped_rows(layout: str) -> list[list[float]]:
    """This rank's rows of ones after dropout, under a wrapper."""
    rows = 8 // dist.get_world_size()
    with torch.device("meta"):
        model = Noisy(dist.get_rank() * rows)
    if layout == "fsdp":
        fully_shard(model)
    model.to_empty(device="cpu")
    init_weights(model, {"scale": constant(1.0)}, 0)
    if layout == "ddp":
        model = DistributedDataParallel(model)
    seed_dropout(model, 5, 77)
    return model(torch.ones(rows, 64)).detach().tolist()


# --- compile and recompute -----------------------------------------------------------------------


class Layer(nn.Module):
    """A transformer layer that uses every part of a forward pass."""

    def __init__(self, kind: str, group: dist.ProcessGroup, start: int) -> None:
        super().__init__()
        self.kind, self.group, self.start = kind, group, start
        self.norm = RMSNorm(32, 1e-5)
        self.wq = nn.Linear(32, 32, bias=False)
        self.wkv = nn.Linear(32, 32, bias=False)
        self.wo = nn.Linear(32, 32, bias=False)
        self.drop = Dropout(0.25, (0, start, 0))

    def forward(self, x: Tensor) -> Tensor:
        y, frequencies = self.norm(x), rope_frequencies(8, 1e4, x.device)
        q = rope(self.wq(y).unflatten(2, (4, 8)), frequencies, self.start)
        k, v = self.wkv(y).unflatten(2, (2, 2, 8)).unbind(2)
        k = rope(k, frequencies, self.start)
        k, v = repeat_heads(k, 2), repeat_heads(v, 2)
        q = tokens_to_heads(q, self.group)
        k = tokens_to_heads(k, self.group)
        v = tokens_to_heads(v, self.group)
        if self.kind == "window":
            a = window_attention(q, k, v, window=6)
        elif self.kind == "capped":
            a = capped_attention(q, k, v, 5.0, window=6, block=8)
        else:
            a = attention(q, k, v, causal=True)
        return x + self.drop(self.wo(heads_to_tokens(a, self.group).flatten(2)))


def layer_results(kind: str, *, compiled: bool, recompute: bool, sharded: bool) -> list[Tensor]:
    """Values and gradients of one layer on this rank's tokens of 16."""
    world, rank = dist.get_world_size(), dist.get_rank()
    tokens = 16 // world
    layer = Layer(kind, world_group(), rank * tokens)
    init_weights(layer, {n: normal(0.3) for n, _ in layer.named_parameters()}, 0)
    if compiled:
        layer.compile(fullgraph=True, backend="aot_eager")
    if sharded:
        fully_shard(layer)
    x = torch.randn(2, 16, 32, generator=torch.Generator().manual_seed(1))
    x = x[:, rank * tokens : (rank + 1) * tokens].clone().requires_grad_()
    results = []
    for index in range(2):  # with another key, which may not compile again
        seed_dropout(layer, 0, index)
        out = checkpoint(layer, x, use_reentrant=False) if recompute else layer(x)
        out.sin().sum().backward()
        results.append(out.detach())
    grads = [whole(p.grad) for p in layer.parameters() if p.grad is not None]
    assert x.grad is not None
    return [*results, x.grad, *grads]


def compiled_error(kind: str, recompute: bool, sharded: bool) -> tuple[float, int]:
    """Largest difference to the layer that is not compiled, and the number of compiled graphs."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    plain = layer_results(kind, compiled=False, recompute=recompute, sharded=sharded)
    compiled = layer_results(kind, compiled=True, recompute=recompute, sharded=sharded)
    errors = [(a - b).abs().max().item() for a, b in zip(plain, compiled, strict=True)]
    return max(errors), torch._dynamo.utils.counters["stats"]["unique_graphs"]


def recomputed_error(kind: str) -> float:
    """Largest difference between a layer that is recomputed and one that is not."""
    plain = layer_results(kind, compiled=False, recompute=False, sharded=False)
    again = layer_results(kind, compiled=False, recompute=True, sharded=False)
    return max((a - b).abs().max().item() for a, b in zip(plain, again, strict=True))
