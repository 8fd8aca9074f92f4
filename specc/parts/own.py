"""Modules that draw their own weights: what one that is made under a seed of its own draws."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from specc.parts.init import kept_slices, row_of
from specc.parts.keyed import key_number
from specc.parts.split_layers import local


def own_module(make: Callable[[], nn.Module]) -> nn.Module:
    """The module that `make` gives, on the CPU: its constructor may read values of tensors."""
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        return make()


class LocalForward(nn.Module):
    """Forward of a module whose parameters are DTensors: it sees what this rank has of them."""

    def forward(self, *inputs: Any) -> Any:
        """What the module's own forward gives, from plain tensors."""
        stored = [(module, module._parameters) for module in self.modules()]  # noqa: SLF001
        for module, parameters in stored:
            seen: dict[str, Any] = {n: p if p is None else local(p) for n, p in parameters.items()}
            module._parameters = seen  # noqa: SLF001  where attributes are looked up
        try:
            return super().forward(*inputs)
        finally:
            for module, parameters in stored:
                module._parameters = parameters  # noqa: SLF001


def local_module(make: Callable[[], nn.Module]) -> nn.Module:
    """As own_module; forward sees parameters that are DTensors as plain tensors.

    Their names stay, and so do those in a checkpoint.
    """
    module = own_module(make)
    made = type(module)
    module.__class__ = type(made.__name__, (LocalForward, made), {})
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


def own_tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, saved or not, a shared one under each of its names."""
    parameters = module.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(module.named_buffers(remove_duplicate=False))}
