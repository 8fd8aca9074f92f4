"""Fixtures of the tests of parts."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from specc.parts.start import join


@pytest.fixture
def world_of_one(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process group of this process alone."""
    monkeypatch.delenv("RANK", raising=False)
    join("test", "gloo", torch.device("cpu"), {"dp": 1}, timedelta(minutes=1), __file__)
    yield
    dist.destroy_process_group()
