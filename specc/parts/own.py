"""Modules that draw their own weights: made on the CPU under a seed of their own, then spread."""

from collections.abc import Callable

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from specc.parts.init import kept_slices
from specc.parts.keyed import key_number


def own_module(seed: int, name: str, make: Callable[[], nn.Module]) -> nn.Module:
    """The module that `make` gives, the same on every rank, keeping a copy of what it drew."""
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.manual_seed(key_number(seed, name))
        module = make()
    drawn = {key: value.clone() for key, value in module.state_dict().items()}
    vars(module)["drawn"] = drawn  # beside its parameters and buffers
    return module


def own_names(model: nn.Module) -> set[str]:
    """Names of the tensors that modules made by own_module drew."""
    return {
        f"{path}.{name}"
        for path, module in model.named_modules()
        for name in vars(module).get("drawn", ())
    }


@torch.no_grad()
def restore_own(model: nn.Module) -> None:
    """Give modules made by own_module their values back, on each rank the part that it keeps."""
    for module in model.modules():
        drawn = vars(module).pop("drawn", None)
        for name, tensor in module.state_dict(keep_vars=True).items() if drawn else ():
            local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
            local.copy_(drawn[name][kept_slices(tensor)])
