"""Random numbers of torch.musa: one generator for each device, apart from the host's."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from torch_musa._backing import DEVICE_COUNT, backing
from torch_musa._device import device_index

default_generators = tuple(backing.default_generator(index) for index in range(DEVICE_COUNT))


def get_rng_state(device: Any = "musa") -> torch.Tensor:
    return default_generators[device_index(device)].get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "musa") -> None:
    default_generators[device_index(device)].set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    for generator, state in zip(default_generators, new_states, strict=True):
        generator.set_state(state)


def manual_seed(seed: int) -> None:
    default_generators[device_index()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> None:
    default_generators[device_index()].seed()


def seed_all() -> None:
    """Seeds every device with the same fresh seed."""
    seed()
    manual_seed_all(initial_seed())


def initial_seed() -> int:
    return default_generators[device_index()].initial_seed()


@contextlib.contextmanager
def fork_rng(*args: Any, **keywords: Any) -> Iterator[None]:
    """torch.random.fork_rng for musa devices."""
    with torch.random.fork_rng(*args, **{"device_type": "musa", **keywords}):
        yield


PUBLIC = (
    get_rng_state,
    set_rng_state,
    get_rng_state_all,
    set_rng_state_all,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    initial_seed,
    fork_rng,
)
