"""Models and a loop as a person writes them, with other formulas than the parts: what is true."""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specc.runtime.execute import load_text
from specc.runtime.observed import Training, weights, whole_gradients
from tests.runs.parity_jobs import batches


class LlamaBlock(nn.Module):
    """Grouped attention with turned queries and keys, then a gated feed-forward.

    Args:
        d, heads, kv, ff: widths and numbers of heads.
    """

    def __init__(self, d: int, heads: int, kv: int, ff: int) -> None:
        super().__init__()
        self.heads, self.kv = heads, kv
        self.attn_norm, self.ffn_norm = nn.RMSNorm(d, eps=1e-6), nn.RMSNorm(d, eps=1e-6)
        width = d // heads * kv
        self.attn = nn.ModuleDict(
            {
                "wq": nn.Linear(d, d, bias=False),
                "wk": nn.Linear(d, width, bias=False),
                "wv": nn.Linear(d, width, bias=False),
                "wo": nn.Linear(d, d, bias=False),
            }
        )
        self.ffn = nn.ModuleDict(
            {
                "gate": nn.Linear(d, ff, bias=False),
                "up": nn.Linear(d, ff, bias=False),
                "down": nn.Linear(ff, d, bias=False),
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.attn_norm(x)
        q = turned(split_heads(self.attn["wq"](y), self.heads))
        k = turned(split_heads(self.attn["wk"](y), self.kv))
        x = x + self.attn["wo"](mixed(q, k, split_heads(self.attn["wv"](y), self.kv)))
        y = self.ffn_norm(x)
        return x + self.ffn["down"](F.silu(self.ffn["gate"](y)) * self.ffn["up"](y))


class Llama(nn.Module):
    """The model of llama.spec."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(61, 32)
        self.blocks = nn.Sequential(*(LlamaBlock(32, 8, 4, 46) for _ in range(2)))
        self.norm = nn.RMSNorm(32, eps=1e-6)
        self.head = nn.Linear(32, 61, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.embed(ids))))


class TaggerBlock(nn.Module):
    """Attention with one matrix for queries, keys and values."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (split_heads(y, self.heads) for y in self.qkv(self.norm(x)).chunk(3, dim=-1))
        return x + self.out(mixed(turned(q), turned(k), v))


class Tagger(nn.Module):
    """The model of ignored.spec."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, 32)
        self.blocks = nn.Sequential(*(TaggerBlock(32, 4) for _ in range(2)))
        self.head = nn.Linear(32, 16)
        self.embed.requires_grad_(False)
        self.blocks[0].norm.requires_grad_(False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.blocks(self.embed(ids)))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, heads * E] -> [B, heads, T, E]."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def turned(x: Tensor) -> Tensor:
    """Rotary embedding as a product of complex numbers, of dims i and i + E / 2 each."""
    tokens, width = x.shape[-2:]
    rates = 1.0 / 1e4 ** (torch.arange(0, width, 2) / width)
    angles = torch.arange(tokens)[:, None] * rates
    numbers = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((numbers.real, numbers.imag), dim=-1)


def mixed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention written out; [B, heads, T, E] -> [B, T, heads * E]."""
    times, tokens = q.shape[1] // k.shape[1], q.shape[2]
    k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    shares = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
    return (shares @ v).transpose(1, 2).flatten(2)


def llama(text: str) -> Training:
    """Train what llama.spec says, from the weights and on the batches of its text."""
    return written(text, Llama(), 1, F.cross_entropy, clip=1.0, weight_decay=0.1)


def tagger(text: str) -> Training:
    """Train what ignored.spec says: a mean over the labels of two batches that count."""

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits, labels, ignore_index=0)

    return written(text, Tagger(), 2, loss, clip=0.1, weight_decay=0.01)


def written(
    text: str,
    model: nn.Module,
    accumulate: int,
    loss: Callable[[Tensor, Tensor], Tensor],
    clip: float,
    weight_decay: float,
) -> Training:
    """Train in one process, all batches of a step at once."""
    module = load_text(text, "written")
    device = torch.device("cpu")
    drawn, _ = module.build(device)
    digest = module.digest(drawn)
    initial = weights(drawn)
    model.load_state_dict(initial)
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=1e-3, weight_decay=weight_decay)
    source = batches(module, device)
    records, gradients = [], {}
    for _ in range(module.STEPS):
        ids, labels = joined(source, accumulate)
        mean = loss(model(ids).flatten(0, 1), labels.flatten())
        mean.backward()
        norm = nn.utils.clip_grad_norm_(learning, clip)
        gradients = gradients or whole_gradients(model)
        optimizer.step()
        optimizer.zero_grad()
        records.append((mean.item(), norm.item()))
    return Training(digest, initial, gradients, weights(model), tuple(records), "")


def joined(source: Iterator[tuple[Tensor, ...]], count: int) -> tuple[Tensor, ...]:
    """Several batches as one."""
    parts = [next(source) for _ in range(count)]
    return tuple(torch.cat(fields) for fields in zip(*parts, strict=True))
