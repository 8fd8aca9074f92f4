"""Layers whose weights are split over ranks: DTensors in storage, plain tensors in forward.

So the optimizer and checkpoints know the whole, and arithmetic and collectives are plain torch.
"""

from collections.abc import Iterable, Mapping

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from specc.parts.gradients import compute_device
from specc.parts.groups import is_below, is_named
from specc.parts.rms_norm import RMSNorm


def local(tensor: Tensor) -> Tensor:
    """What this rank has of a tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def segment_pieces(
    tensor: Tensor, segments: tuple[int, ...], rank: int, ranks: int, dim: int = 0
) -> Tensor:
    """A rank's piece of each of the segments that a tensor has side by side along a dim."""
    pieces = [segment.chunk(ranks, dim)[rank] for segment in tensor.split(segments, dim)]
    return torch.cat(pieces, dim)


class LocalLinear(nn.Linear):
    """Linear from all inputs to this rank's outputs, or from and to whole values."""

    def forward(self, input: Tensor) -> Tensor:
        """Shapes: [.., in] -> [.., out / n]."""
        bias = None if self.bias is None else local(self.bias)
        return F.linear(input, local(self.weight), bias)


class SegmentedLinear(nn.Linear):
    """Linear to outputs side by side, such as queries, keys and values, each of them split.

    The weight is whole on every rank, in the order of the whole; a rank uses its rows of each.
    """

    def __init__(
        self, dim: int, segments: tuple[int, ...], group: dist.ProcessGroup, bias: bool = True
    ) -> None:
        super().__init__(dim, sum(segments), bias)
        self.segments = segments
        self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)

    def forward(self, input: Tensor) -> Tensor:
        """Shapes: [.., in] -> [.., out / n], this rank's piece of each segment."""
        bias = None if self.bias is None else self.rows(self.bias)
        return F.linear(input, self.rows(self.weight), bias)

    def rows(self, tensor: Tensor) -> Tensor:
        """This rank's rows of each segment."""
        return segment_pieces(local(tensor), self.segments, self.rank, self.ranks)


class RowLinear(nn.Linear):
    """Linear from this rank's inputs: a summand of the result, without the bias."""

    def forward(self, input: Tensor) -> Tensor:
        """Shapes: [.., in / n] -> [.., out]."""
        return F.linear(input, local(self.weight))


class LocalEmbedding(nn.Embedding):
    """Embedding into this rank's columns, or into all."""

    def forward(self, input: Tensor) -> Tensor:
        """Shapes: [..] -> [.., dim / n]."""
        return F.embedding(input, local(self.weight))


class VocabEmbedding(nn.Embedding):
    """Embedding of this rank's ids, zeros for all others: a summand of the result.

    Args:
        start: first id of this rank.
    """

    def __init__(self, rows: int, dim: int, start: int) -> None:
        super().__init__(rows, dim)
        self.start = start

    def forward(self, input: Tensor) -> Tensor:
        """Shapes: [..] -> [.., dim]."""
        table, own = local(self.weight), input - self.start
        elsewhere = (own < 0) | (own >= table.shape[0])
        rows = F.embedding(own.masked_fill(elsewhere, 0), table)
        return rows.masked_fill(elsewhere.unsqueeze(-1), 0.0)


class LocalLayerNorm(nn.LayerNorm):
    """LayerNorm of whole rows."""

    def forward(self, input: Tensor) -> Tensor:
        """Shapes: [.., dim] -> same."""
        weight = None if self.weight is None else local(self.weight)
        bias = None if self.bias is None else local(self.bias)
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)


class LocalRMSNorm(RMSNorm):
    """RMSNorm of whole rows."""

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: [.., dim] -> same."""
        weight = local(self.weight).float() + self.offset
        return F.rms_norm(x.float(), weight.shape, weight, self.eps).to(x.dtype)


def split_parameters(
    model: nn.Module, mesh: DeviceMesh, dims: Mapping[str, int], pieces: Iterable[str] = ()
) -> None:
    """Make every parameter of a model without memory a DTensor over the one dim of a mesh.

    Args:
        dims: along which dim a parameter is split, by name, `*` for one index of a list; any
            other parameter is whole on every rank.
        pieces: modules, by name, that are made with a rank's sizes already.

    Raises:
        ValueError: if a name of `dims` fits no parameter.
    """
    pieces = tuple(pieces)
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    unused = set(dims)
    for parameter, shared in names.items():
        fitting = [row for row in dims if any(is_named(name, [row]) for name in shared)]
        unused -= set(fitting)
        whole, here = list(parameter.shape), list(parameter.shape)
        for dim in [dims[row] for row in fitting[:1]]:
            if is_below(shared[0], pieces):
                whole[dim] *= mesh.size()
            else:
                here[dim] //= mesh.size()
        split = DTensor.from_local(
            parameter.new_empty(here),
            mesh,
            [Shard(dims[fitting[0]]) if fitting else Replicate()],
            run_check=False,
            shape=torch.Size(whole),
            stride=torch.empty(whole, device="meta").stride(),
        )
        made = nn.Parameter(split, requires_grad=parameter.requires_grad)
        for name in shared:
            path, _, own = name.rpartition(".")
            model.get_submodule(path).register_parameter(own, made)
    if unused:
        raise ValueError(f"no parameter is called {sorted(unused)}")


def named_parameters(model: nn.Module, patterns: Iterable[str]) -> list[nn.Parameter]:
    """The parameters that one of the patterns fits."""
    patterns = tuple(patterns)
    return [p for name, p in model.named_parameters() if is_named(name, patterns)]


@torch.no_grad()
def sum_gradients(parameters: Iterable[nn.Parameter], group: dist.ProcessGroup) -> None:
    """Add the gradients up over ranks, in one all-reduce.

    For parameters that are whole on every rank, and that each uses on its piece of a value.
    Gradients may lie on the host.
    """
    parameters = [p for p in parameters if p.grad is not None]
    gradients = [local(p.grad) for p in parameters if p.grad is not None]
    device = compute_device(parameters[0])
    flat = torch.cat([gradient.flatten().to(device) for gradient in gradients])
    dist.all_reduce(flat, group=group)
    for gradient, total in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(total.view_as(gradient))
