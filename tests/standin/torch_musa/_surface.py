"""Puts the names of one torch_musa version on torch.musa, and registers the device with torch."""

import json
import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.utils import backend_registration

from torch_musa import _amp, _attention, _device, _distributed, _memory, _random, _streams
from torch_musa._backing import IS_FAKE

# The oldest torch that each version imports on.
OLDEST_TORCH = {"2.7.1": (2, 7, 1), "2.9.1.post1": (2, 9, 1)}
MCCL_VERSION = (2, 11, 4)  # that of MUSA SDK 3.1


def install(module: types.ModuleType) -> None:
    """Makes `module` torch.musa.

    Raises:
        RuntimeError: if the version is unknown, or torch is older than it allows.
    """
    version = chosen_version()
    names = json.loads(Path(__file__).with_name("names.json").read_text())[version]
    if not IS_FAKE:
        backend_registration.rename_privateuse1_backend("musa")
    members = simulated(names)
    for name in names["torch.musa"]:
        setattr(module, name, members.get(name) or not_simulated(f"torch.musa.{name}"))
    vars(module).update(private_members(), __version__=version)
    register(module, version)


def chosen_version() -> str:
    """The torch_musa version of SPECC_STANDIN_MUSA, if this torch is new enough for it."""
    version = os.environ.get("SPECC_STANDIN_MUSA", "2.9.1.post1")
    if version not in OLDEST_TORCH:
        known = " or ".join(OLDEST_TORCH)
        raise RuntimeError(f"SPECC_STANDIN_MUSA is {version!r}, the stand-in knows {known}")
    numbers = torch.__version__.split("+")[0].split(".")
    if tuple(map(int, numbers[:3])) < OLDEST_TORCH[version]:
        raise RuntimeError(f"torch_musa {version} does not import on torch {torch.__version__}")
    return version


def simulated(names: dict[str, list[str]]) -> dict[str, Any]:
    """Every member of torch.musa that does something here."""
    sources = (_device, _streams, _memory, _random)
    members = {member.__name__: member for source in sources for member in source.PUBLIC}
    memory = {name: members[name] for name in names["torch.musa.memory"] if name in members}
    return members | {
        "default_generators": _random.default_generators,
        "OutOfMemoryError": torch.OutOfMemoryError,
        "has_half": True,
        "amp": module_of("torch.musa.amp", _amp.PUBLIC),
        "mccl": module_of("torch.musa.mccl", {"version": lambda: MCCL_VERSION}),
        "memory": module_of("torch.musa.memory", memory),
    }


def private_members() -> dict[str, Any]:
    """What torch itself asks of a device module under private names."""
    return {
        "_is_in_bad_fork": lambda: False,
        "_lazy_init": lambda: None,
        "_lazy_call": lambda call, **_keywords: call(),
        "_initialized": True,
        "_exchange_device": _device.exchange_device,
        "_maybe_exchange_device": _device.exchange_device,
        "_autoload": lambda: None,
    }


def module_of(name: str, members: dict[str, Any]) -> types.ModuleType:
    """A module with these members."""
    module = types.ModuleType(name)
    vars(module).update(members)
    return module


def not_simulated(name: str) -> Callable[..., NoReturn]:
    """A member that is there, as in torch_musa, and says so when it is called."""

    def raise_not_simulated(*args: object, **keywords: object) -> NoReturn:
        del args, keywords
        raise NotImplementedError(f"{name} exists in torch_musa; the stand-in does not simulate it")

    raise_not_simulated.__name__ = name.rpartition(".")[2]
    return raise_not_simulated


def register(module: types.ModuleType, version: str) -> None:
    """Tells torch of the device, its backend, and the attributes that torch_musa adds elsewhere."""
    if IS_FAKE:
        backend_registration._setup_privateuseone_for_python_backend("musa", backend_module=module)
    else:
        torch._register_device_module("musa", module)
        backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
        _distributed.register()
    _attention.register()
    # setattr: no stub of torch has these names.
    setattr(torch.version, "musa", "0.0 (stand-in)")  # noqa: B010
    # TF32 was on by default up to 2.7.1 and is off from 2.9.0 on.
    is_old = version == "2.7.1"
    setattr(torch.backends, "mudnn", types.SimpleNamespace(allow_tf32=is_old))  # noqa: B010
    if not is_old:
        matmul = types.SimpleNamespace(allow_tf32=False)
        setattr(torch.backends, "musa", types.SimpleNamespace(matmul=matmul))  # noqa: B010
