"""Devices of torch.musa: which there are, which is current, and what they say of themselves."""

import os
import types
from typing import Any

import torch

from torch_musa._backing import DEVICE_COUNT, backing

# Name, capability, multiprocessors, bytes. Those of the S5000 are from a report on a real card; of
# the S4000 the memory is what its monitor shows, the multiprocessors are not published (0).
CARDS = {
    22: ("MTT S4000", (2, 2), 0, 49_152 * 2**20),
    31: ("MTT S5000", (3, 1), 60, 85_813_358_592),
}


def arch() -> int:
    """22 or 31, from TORCH_MUSA_ARCH."""
    return int(os.environ.get("TORCH_MUSA_ARCH", "22"))


def device_index(device: Any = None) -> int:
    """The index of an int, a string or a torch.device; the current device if none is given."""
    if isinstance(device, int):
        return device
    if device is None:
        return backing.current_device()
    device = torch.device(device)
    if device.type != "musa":
        raise ValueError(f"Expected a musa device, but got: {device}")
    return backing.current_device() if device.index is None else device.index


def set_device(device: Any) -> None:
    backing.set_device(device_index(device))


def current_device() -> int:
    return backing.current_device()


def device_count() -> int:
    return DEVICE_COUNT


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def synchronize(device: Any = None) -> None:
    """Returns at once: work is done when its call returns."""
    device_index(device)


class device:  # noqa: N801  its name in torch.musa
    """A context in which another device is current."""

    def __init__(self, device: Any) -> None:
        self.index = device_index(device)
        self.before = -1

    def __enter__(self) -> None:
        self.before = current_device()
        backing.set_device(self.index)

    def __exit__(self, *error: object) -> None:
        backing.set_device(self.before)


class device_of(device):  # noqa: N801  its name in torch.musa
    """A context in which the device of a tensor is current."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device if tensor.device.type == "musa" else None)


def exchange_device(index: int) -> int:
    """Sets the current device and returns the one before; a negative index changes nothing."""
    before = current_device()
    if index >= 0:
        backing.set_device(index)
    return before


def get_device_name(device: Any = None) -> str:
    device_index(device)
    return CARDS[arch()][0]


def get_device_capability(device: Any = None) -> tuple[int, int]:
    device_index(device)
    return CARDS[arch()][1]


def get_device_properties(device: Any) -> types.SimpleNamespace:
    """The seven fields that torch_musa fills; the argument is required there."""
    device_index(device)
    name, (major, minor), num_processors, total_memory = CARDS[arch()]
    return types.SimpleNamespace(
        name=name,
        major=major,
        minor=minor,
        is_multi_gpu_board=0,
        is_integrated=0,
        multi_processor_count=num_processors,
        total_memory=total_memory,
    )


def get_arch_list() -> list[str]:
    return [f"mp_{arch()}"]


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    return device_index(device) != device_index(peer_device)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return including_emulation or arch() >= 22


def is_tf32_supported() -> bool:
    return arch() >= 22


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


PUBLIC = (
    set_device,
    current_device,
    device_count,
    is_available,
    is_initialized,
    synchronize,
    device,
    device_of,
    get_device_name,
    get_device_capability,
    get_device_properties,
    get_arch_list,
    can_device_access_peer,
    is_bf16_supported,
    is_tf32_supported,
    get_amp_supported_dtype,
)
