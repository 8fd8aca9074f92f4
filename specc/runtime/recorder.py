"""Counts the collectives of a run by kind, mesh axis, dtype and size."""
# ruff: noqa: ANN401, SLF001  operators and their arguments have no types that torch exports

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import attrs
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _resolve_process_group
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Kinds of collectives, with their operators in c10d (torch.distributed) and _c10d_functional.
KINDS = {
    "all_reduce": ("allreduce", "allreduce_coalesced", "all_reduce", "all_reduce_coalesced"),
    "all_gather": (
        "_allgather_base",
        "allgather",
        "allgather_coalesced",
        "allgather_into_tensor_coalesced",
        "all_gather_into_tensor",
        "all_gather_into_tensor_out",
        "all_gather_into_tensor_coalesced",
    ),
    "reduce_scatter": (
        "_reduce_scatter_base",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "reduce_scatter_tensor_out",
        "reduce_scatter_tensor_coalesced",
    ),
    "all_to_all": ("alltoall_base", "alltoall", "all_to_all_single"),
    "broadcast": ("broadcast",),
    "reduce": ("reduce",),
    "gather": ("gather",),
    "scatter": ("scatter",),
    "send": ("send", "isend"),
    "recv": ("recv", "recv_any_source", "irecv"),
    "barrier": ("barrier", "monitored_barrier"),
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
# They move nothing themselves.
LOCAL = {"wait_tensor", "check_for_nan", "_wrap_tensor_autograd"}


@attrs.frozen
class Collective:
    """One collective of this rank; `num_bytes` is that of the larger of its two buffers."""

    kind: str
    axis: str
    dtype: str
    num_bytes: int


class Recorder(TorchDispatchMode):
    """A context that counts the collectives of this rank in `counts`.

    The axis of a group is the name of the mesh axis whose ranks it has ("cp"), or of several
    ("dp*cp"); "world" for all ranks if no mesh names them, else the ranks themselves.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[Collective] = Counter()
        self.axes: dict[frozenset[int], tuple[str, ...]] = {}

    def add_mesh(self, mesh: DeviceMesh) -> None:
        """Names the groups that the axes of a mesh make; the fewest axes name a group."""
        coordinate, names = mesh.get_coordinate(), mesh.mesh_dim_names
        if coordinate is not None and names is not None:
            self._add(names, mesh.mesh, coordinate)

    def add_axes(self, sizes: Mapping[str, int], rank: int) -> None:
        """Names the groups of a mesh that is not made yet: its axes, outermost first."""
        names = tuple(name for name, size in sizes.items() if size > 1)
        degrees = tuple(sizes[name] for name in names)
        if names:
            ranks = torch.arange(prod(degrees)).view(degrees)
            self._add(names, ranks, (ranks == rank).nonzero()[0].tolist())

    def _add(self, names: Sequence[str], ranks: torch.Tensor, coordinate: Sequence[int]) -> None:
        for axes, group in _groups_of(names, ranks, coordinate):
            known = self.axes.get(group)
            if known is None or len(axes) < len(known):
                self.axes[group] = axes

    def axis_name(self, ranks: Sequence[int]) -> str:
        """The mesh axes that a group of ranks spans."""
        axes = self.axes.get(frozenset(ranks))
        if axes is not None:
            return "*".join(axes)
        if len(ranks) == dist.get_world_size():
            return "world"
        return f"ranks {', '.join(map(str, ranks))}"

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # DTensor turns it into collectives on local tensors first
        out = func(*args, **kwargs)
        if getattr(func, "namespace", None) in ("c10d", "_c10d_functional"):
            self.record(func, args, kwargs, out)
        return out

    def record(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Adds one call of an operator of torch.distributed.

        Raises:
            NotImplementedError: for an operator that KINDS does not know.
        """
        name = func._schema.name.partition("::")[2].removesuffix("_")
        if name in LOCAL:
            return
        if name not in KIND_OF:
            raise NotImplementedError(f"no kind of collective for the operator {func}")
        ranks = _group_ranks(func, args, kwargs)
        if len(ranks) == 1:
            return  # nothing is sent
        # The outputs of c10d operators are among their arguments; functional ones return theirs.
        sides = [*args, *kwargs.values(), *([out] if func.namespace != "c10d" else [])]
        buffers = [[leaf for leaf in tree_leaves(side) if _is_tensor(leaf)] for side in sides]
        largest = max(buffers, key=_buffer_bytes)
        kind = KIND_OF[name]
        is_empty = kind == "barrier" or not largest
        collective = Collective(
            kind=kind,
            axis=self.axis_name(ranks),
            dtype="" if is_empty else str(largest[0].dtype).removeprefix("torch."),
            num_bytes=0 if is_empty else _buffer_bytes(largest),
        )
        self.counts[collective] += 1

    def table(self) -> list[dict[str, Any]]:
        """The counts as rows for JSON, in order."""
        rows = [
            {"kind": c.kind, "axis": c.axis, "dtype": c.dtype, "bytes": c.num_bytes, "count": count}
            for c, count in self.counts.items()
        ]
        return sorted(rows, key=lambda row: tuple(map(str, row.values())))


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _buffer_bytes(tensors: Sequence[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _group_ranks(func: Any, args: Any, kwargs: Any) -> tuple[int, ...]:
    """The global ranks of the group that an operator runs in."""
    names = [argument.name for argument in func._schema.arguments]
    given: dict[str, Any] = dict(zip(names, args, strict=False)) | kwargs
    if func.namespace == "c10d":
        group = dist.ProcessGroup.unbox(given["process_group"])
    else:
        group = _resolve_process_group(given["group_name"])
    return tuple(dist.get_process_group_ranks(group))


def _groups_of(
    names: Sequence[str], mesh: torch.Tensor, coordinate: Sequence[int]
) -> Iterator[tuple[tuple[str, ...], frozenset[int]]]:
    """For every choice of mesh axes, the ranks that differ from this one in these axes only."""
    for count in range(1, len(names) + 1):
        for dims in combinations(range(len(names)), count):
            place = tuple(slice(None) if dim in dims else at for dim, at in enumerate(coordinate))
            yield tuple(names[dim] for dim in dims), frozenset(mesh[place].flatten().tolist())
