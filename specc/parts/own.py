"""Modules that draw their own weights: what one that is made under a seed of its own draws."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from specc.parts.init import kept_slices, row_of
from specc.parts.keyed import key_number
from specc.parts.split_layers import local, segment_pieces


def own_module(make: Callable[[], nn.Module]) -> nn.Module:
    """The module that `make` gives, on the CPU: its constructor may read values of tensors."""
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        return make()


def local_forward(
    made: type[nn.Module], pieces: Mapping[str, Callable[[Tensor], Tensor]]
) -> Callable[..., Any]:
    """Forward of a class for modules whose parameters are DTensors: it sees plain tensors.

    Args:
        pieces: what gives a rank's piece of a parameter that is whole on every rank, by its name.
    """

    def seen(path: str, name: str, parameter: Tensor | None) -> Tensor | None:
        if parameter is None:
            return None
        piece = pieces.get(f"{path}.{name}" if path else name)
        return local(parameter) if piece is None else piece(local(parameter))

    def forward(own: nn.Module, *inputs: Any) -> Any:
        modules = dict(own.named_modules())
        stored = {path: module._parameters for path, module in modules.items()}  # noqa: SLF001
        for path, parameters in stored.items():
            here: dict[str, Any] = {n: seen(path, n, p) for n, p in parameters.items()}
            modules[path]._parameters = here  # noqa: SLF001  where attributes are looked up
        try:
            return made.forward(own, *inputs)
        finally:
            for path, parameters in stored.items():
                modules[path]._parameters = parameters  # noqa: SLF001

    return forward


def local_module(
    make: Callable[[], nn.Module],
    segments: Mapping[str, tuple[int, tuple[int, ...]]] | None = None,
    group: dist.ProcessGroup | None = None,
) -> nn.Module:
    """As own_module, made with a rank's sizes; forward sees plain tensors where DTensors are kept.

    Their names stay, and so do those in a checkpoint.

    Args:
        segments: dim and sizes of what a parameter has side by side, by its name. It is whole on
            every rank, and forward sees the rank's piece of each segment.
        group: the ranks that have pieces.
    """
    module = own_module(make)
    pieces: dict[str, Callable[[Tensor], Tensor]] = {}
    for name, (dim, sizes) in (segments or {}).items():
        parameter, (path, _, own) = module.get_parameter(name), name.rpartition(".")
        shape = [sum(sizes) if at == dim else size for at, size in enumerate(parameter.shape)]
        whole = nn.Parameter(parameter.new_empty(shape), parameter.requires_grad)
        module.get_submodule(path).register_parameter(own, whole)
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        pieces[name] = partial(segment_pieces, segments=sizes, rank=rank, ranks=ranks, dim=dim)
    made = type(module)
    module.__class__ = type(made.__name__, (made,), {"forward": local_forward(made, pieces)})
    return module


@torch.no_grad()
def init_own(model: nn.Module, table: Mapping[str, Callable[[], nn.Module]], seed: int) -> set[str]:
    """Give modules the weights that they draw themselves, on each rank the part that it keeps.

    Each is made once more, whole, under a seed of its own: the same on every mesh.

    Args:
        table: what makes a module, by name, where `*` stands for one index of a list.

    Returns:
        The names of the tensors that have their values now.

    Raises:
        ValueError: if a module has other tensors than one that is made like it.
    """
    done: set[str] = set()
    for path, module in model.named_modules():
        row = row_of(path, table)
        if row is None:
            continue
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(key_number(seed, path))
            drawn = own_tensors(own_module(table[row]))
        for name, tensor in own_tensors(module).items():
            if name not in drawn or tensor.shape != drawn[name].shape:
                whole = list(drawn[name].shape) if name in drawn else "not there"
                raise ValueError(f"{path}.{name} is {list(tensor.shape)} here, and {whole} whole")
            local(tensor).copy_(drawn[name][kept_slices(tensor)])
            done.add(f"{path}.{name}")
    return done


def own_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, saved or not, a shared one under each of its names."""
    parameters = module.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(module.named_buffers(remove_duplicate=False))}
