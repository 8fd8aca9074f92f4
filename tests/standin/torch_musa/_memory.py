"""Memory figures of torch.musa: the host bytes that live musa tensors hold; nothing is cached."""

from typing import Any

from torch_musa._backing import backing
from torch_musa._device import CARDS, arch, device_index


def memory_allocated(device: Any = None) -> int:
    return backing.allocated_bytes(device_index(device))


def max_memory_allocated(device: Any = None) -> int:
    return backing.peak_bytes(device_index(device))


def memory_reserved(device: Any = None) -> int:
    return memory_allocated(device)


def max_memory_reserved(device: Any = None) -> int:
    return max_memory_allocated(device)


def memory_cached(device: Any = None) -> int:
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    return max_memory_reserved(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    backing.reset_peak_bytes(device_index(device))


def reset_max_memory_allocated(device: Any = None) -> None:
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    reset_peak_memory_stats(device)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of the card that the device stands for."""
    total = CARDS[arch()][3]
    return total - memory_allocated(device), total


def memory_stats(device: Any = None) -> dict[str, int]:
    current, peak = memory_allocated(device), max_memory_allocated(device)
    return {
        f"{kind}_bytes.all.{moment}": value
        for kind in ("allocated", "reserved", "active")
        for moment, value in (("current", current), ("peak", peak))
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    del abbreviated
    return "\n".join(f"{name}: {value}" for name, value in memory_stats(device).items())


def empty_cache() -> None:
    """Does nothing: freed memory goes back to the host at once."""


def get_allocator_backend() -> str:
    return "native"


PUBLIC = (
    memory_allocated,
    max_memory_allocated,
    memory_reserved,
    max_memory_reserved,
    memory_cached,
    max_memory_cached,
    reset_peak_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    mem_get_info,
    memory_stats,
    memory_summary,
    empty_cache,
    get_allocator_backend,
)
