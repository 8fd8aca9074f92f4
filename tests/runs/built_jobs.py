"""Jobs that build a printed model among fake ranks, without memory, and say what it is made of."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import attrs
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from specc.plan.holding import HeldTensor
from specc.runtime.environment import variables
from specc.runtime.execute import load_text
from specc.runtime.session import held

DTYPES = {torch.bfloat16: "bf16", torch.float32: "fp32", None: "fp32"}


@attrs.frozen
class BuiltTensor:
    """A parameter or saved buffer.

    Args:
        placement: of each dim of its mesh: `R`, `S(0)`; empty for a plain tensor.
        ranks: of its mesh, nested as the mesh is.
    """

    name: str
    sizes: tuple[int, ...]
    dtype: str
    learns: bool
    placement: tuple[str, ...] = ()
    ranks: Any = None


@attrs.frozen
class BuiltUnit:
    """What FSDP2 gathers and reduces together.

    Args:
        reshard: whether parameters are freed after forward.
    """

    parameters: frozenset[str]
    params: str
    reduce: str
    reshard: bool


@attrs.frozen
class BuiltModel:
    """What a model is made of.

    Args:
        tensors: in the order of its state dict, a tied one under each of its names.
        tied: groups of names of one tensor.
        types: class of every module by path.
        held: what the rank holds.
    """

    tensors: tuple[BuiltTensor, ...]
    tied: frozenset[frozenset[str]]
    units: tuple[BuiltUnit, ...]
    types: dict[str, str]
    held: tuple[HeldTensor, ...]


def build(text: str, name: str, world: int, rank: int, path: str) -> BuiltModel:
    """Build a text's model as one of many ranks; its device and plugin need not be here.

    Args:
        path: folder of the modules that the text imports.
    """
    sys.path.insert(0, path)
    sys.modules.setdefault("torch_musa", ModuleType("torch_musa"))
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        with variables({"RANK": str(rank), "WORLD_SIZE": str(world)}):
            module = load_text(text, name)
            vars(module)["DEVICE"] = "cpu"
            return described(module.build_model())
    finally:
        dist.destroy_process_group()
        sys.path.remove(path)
        if sys.modules["torch_musa"].__spec__ is None:
            del sys.modules["torch_musa"]


def described(model: nn.Module) -> BuiltModel:
    parameters = dict(model.named_parameters(remove_duplicate=False))
    buffers = {n: b for n, b in model.named_buffers() if n in model.state_dict(keep_vars=True)}
    found = {**parameters, **buffers}
    by_identity: dict[int, set[str]] = {}
    for name, tensor in found.items():
        by_identity.setdefault(id(tensor), set()).add(name)
    return BuiltModel(
        tuple(described_tensor(name, found[name]) for name in model.state_dict()),
        frozenset(frozenset(names) for names in by_identity.values() if len(names) > 1),
        tuple(units(model, parameters)),
        {path: plain_name(type(module)) for path, module in model.named_modules()},
        held(model),
    )


def described_tensor(name: str, tensor: torch.Tensor) -> BuiltTensor:
    shape, dtype = tuple(tensor.shape), DTYPES[tensor.dtype]
    if not isinstance(tensor, DTensor):
        return BuiltTensor(name, shape, dtype, tensor.requires_grad)
    # FSDP on top of another split is no `Shard`, and has a dim as well
    dims = (getattr(placement, "dim", None) for placement in tensor.placements)
    placement = tuple("R" if dim is None else f"S({dim})" for dim in dims)
    ranks = tensor.device_mesh.mesh.tolist()
    return BuiltTensor(name, shape, dtype, tensor.requires_grad, placement, ranks)


def units(model: nn.Module, parameters: Mapping[str, torch.Tensor]) -> list[BuiltUnit]:
    """The units of a model, by their first modules; torch has no public name for them."""
    sharded = [module for module in model.modules() if isinstance(module, FSDPModule)]
    states = {id(state): state for state in (module._get_fsdp_state() for module in sharded)}
    names = {id(parameter): name for name, parameter in reversed(list(parameters.items()))}
    return [
        BuiltUnit(
            frozenset(names[id(p.sharded_param)] for p in group.fsdp_params),
            DTYPES[group.mp_policy.param_dtype],
            DTYPES[group.mp_policy.reduce_dtype],
            group.post_forward_mesh_info is not None,
        )
        for state in states.values()
        for group in state._fsdp_param_groups
    ]


def plain_name(kind: type) -> str:
    """Name of a class before `fully_shard` made its own of it."""
    return kind.__name__.removeprefix("FSDP")
