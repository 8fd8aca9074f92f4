"""Norm, clipping and scaling of gradients that are plain tensors, shards, or some of both."""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor


@torch.no_grad()
def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """2-norm of all gradients together, a 0-dim tensor on the device of the mesh.

    Shards are added up over the ranks that hold them; copies, and shared parameters, count once.
    Every rank calls it with the same parameters. Gradients may lie on the host.

    Raises:
        ValueError: if a gradient is still to be summed over ranks.
    """
    parameters = list(parameters)
    square = torch.zeros((), device=compute_device(parameters[0]))
    for (mesh, axes), gradients in local_gradients(parameters).items():
        part = torch.zeros_like(square)
        if gradients:
            norm = nn.utils.get_total_norm([row_norms(g) for g in gradients])
            part += norm.to(part.device).square()
        for axis in axes:
            assert mesh is not None
            dist.all_reduce(part, group=mesh.get_group(axis))
        square += part
    return square.sqrt()


@torch.no_grad()
def clip_gradients(
    parameters: Iterable[nn.Parameter], limit: float, factor: float | Tensor = 1.0
) -> Tensor:
    """Multiply all gradients by factor, then by what brings their norm down to limit.

    Returns:
        The norm after the first and before the second, a 0-dim tensor on the device of the mesh.
    """
    parameters = list(parameters)
    norm = gradient_norm(parameters) * factor
    scale_gradients(parameters, factor * (limit / (norm + 1e-6)).clamp(max=1.0))
    return norm


@torch.no_grad()
def scale_gradients(parameters: Iterable[nn.Parameter], factor: float | Tensor) -> None:
    """Multiply all gradients by factor."""
    for gradients in local_gradients(parameters).values():
        for gradient in gradients:
            here = factor.to(gradient.device) if isinstance(factor, Tensor) else factor
            gradient.mul_(here)


def compute_device(parameter: Tensor) -> torch.device:
    """Where a parameter computes: on the device of its mesh, though it may lie on the host."""
    if isinstance(parameter, DTensor):
        return torch.device(parameter.device_mesh.device_type)
    return parameter.device


def row_norms(gradient: Tensor) -> Tensor:
    """2-norm of each row in fp32; a vector is returned itself.

    CPUs add all squares of a tensor in one fp32 number: 20 million of them lose three digits.
    """
    if gradient.ndim < 2:
        return gradient.float()
    return torch.linalg.vector_norm(gradient, dim=-1, dtype=torch.float32)


def local_gradients(
    parameters: Iterable[nn.Parameter],
) -> dict[tuple[DeviceMesh | None, tuple[int, ...]], list[Tensor]]:
    """This rank's part of each gradient, by the mesh and its dims that the parameter is split over.

    A parameter without a gradient makes an empty entry, so that all ranks have the same entries.
    """
    groups: dict[tuple[DeviceMesh | None, tuple[int, ...]], list[Tensor]] = {}
    for parameter in {id(p): p for p in parameters if p.requires_grad}.values():
        gradient = parameter.grad
        if not isinstance(parameter, DTensor):
            found = groups.setdefault((None, ()), [])
            found += [] if gradient is None else [gradient]
            continue
        placements = parameter.placements
        axes = tuple(i for i, placement in enumerate(placements) if not placement.is_replicate())
        found = groups.setdefault((parameter.device_mesh, axes), [])
        if isinstance(gradient, DTensor):
            if gradient.placements != placements:
                raise ValueError(f"a gradient lies {gradient.placements}, its weight {placements}")
            found.append(gradient.to_local())
    return groups
