"""Keeps parameters, or the state and the step of an optimizer, in the memory of the host."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from specc.parts.groups import is_named
from specc.parts.split_layers import local


@torch.no_grad()
def to_empty(model: nn.Module, device: torch.device, host: Iterable[str]) -> None:
    """Give a model without memory its memory: named parameters on the host, the rest on the device.

    Args:
        host: names of parameters, `*` for one index of a list; all of a module, or none of it.
    """
    host = tuple(host)
    for path, module in model.named_modules():
        names = [name for name, _ in module.named_parameters(path, recurse=False)]
        is_on_host = any(is_named(name, host) for name in names)
        module.to_empty(device="cpu" if is_on_host else device, recurse=False)
        for name, buffer in module.named_buffers(recurse=False) if is_on_host else ():
            setattr(module, name, torch.empty_like(buffer, device=device))


def step_on_host(optimizer: torch.optim.Optimizer) -> None:
    """Let an optimizer keep its state, and step, in the memory of the host.

    Each step copies weights and gradients there and the new weights back. Between steps the
    optimizer has the model's own parameters, so a checkpoint is the same with and without it.

    Source: ZeRO-Offload, Ren et al. 2021, arXiv 2101.06840, section 4.
    """
    own = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    copies = {parameter: host_copy(parameter) for parameter in own}
    gradients = {parameter: host_copy(parameter) for parameter in own}
    originals = {copy: parameter for parameter, copy in copies.items()}

    @torch.no_grad()
    def before_step(*_: object) -> None:
        for parameter, copy in copies.items():
            copy.grad = None
            if parameter.grad is not None:
                local(copy).copy_(local(parameter))
                local(gradients[parameter]).copy_(local(parameter.grad))
                copy.grad = gradients[parameter]
        exchange(optimizer, copies)

    @torch.no_grad()
    def after_step(*_: object) -> None:
        exchange(optimizer, originals)
        for parameter, copy in copies.items():
            if copy.grad is not None:
                # The next step's copies to the host, which block, come after this one.
                local(parameter).copy_(local(copy), non_blocking=True)

    optimizer.register_step_pre_hook(before_step)
    optimizer.register_step_post_hook(after_step)
    # What is loaded goes to the device of the parameters that are there then.
    optimizer.register_load_state_dict_pre_hook(lambda *_: exchange(optimizer, copies))
    optimizer.register_load_state_dict_post_hook(lambda *_: exchange(optimizer, originals))


@torch.no_grad()
def host_copy(parameter: Tensor) -> Tensor:
    """An empty tensor on the host for a parameter, or for this rank's part of it.

    It is pinned, which makes copies to and from a device several times as fast.
    """
    copy = torch.empty_like(parameter, device="cpu", requires_grad=False)
    if parameter.device.type != "cpu":
        local(copy).data = local(copy).pin_memory()
    return copy


def exchange(optimizer: torch.optim.Optimizer, others: Mapping[Tensor, Tensor]) -> None:
    """Put other tensors in the place of an optimizer's parameters; they take over its state."""
    for group in optimizer.param_groups:
        group["params"] = [others[parameter] for parameter in group["params"]]
    for old, new in others.items():
        if old in optimizer.state:
            optimizer.state[new] = optimizer.state.pop(old)
