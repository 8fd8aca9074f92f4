"""What carries the device: the built extension with host memory, or nothing, for fake tensors."""

import importlib.util
import os
import types

import torch

LIBRARY = os.environ.get("SPECC_STANDIN_LIBRARY")
IS_FAKE = os.environ.get("SPECC_STANDIN_FAKE") == "1"
DEVICE_COUNT = 8  # the cards of one node


def load() -> types.ModuleType:
    """The functions that native/module.cpp lists.

    Raises:
        ImportError: if the environment names no extension.
    """
    if IS_FAKE:
        return storageless()
    if LIBRARY is None:
        raise ImportError("SPECC_STANDIN_LIBRARY is not set: use tests.standin.build.environment()")
    spec = importlib.util.spec_from_file_location("musa_standin", LIBRARY)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {LIBRARY}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def storageless() -> types.ModuleType:
    """The same functions where every musa tensor is fake: an index and no memory."""
    module = types.ModuleType("musa_storageless")
    generators = [torch.Generator() for _ in range(DEVICE_COUNT)]
    current = 0

    def set_device(index: int) -> None:
        nonlocal current
        if not 0 <= index < DEVICE_COUNT:
            raise RuntimeError(f"MUSA error: invalid device ordinal ({index} of {DEVICE_COUNT})")
        current = index

    functions = {
        "current_device": lambda: current,
        "set_device": set_device,
        "allocated_bytes": lambda _index: 0,
        "peak_bytes": lambda _index: 0,
        "reset_peak_bytes": lambda _index: None,
        "default_generator": generators.__getitem__,
    }
    vars(module).update(functions)
    return module


backing = load()
