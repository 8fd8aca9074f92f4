"""Steps of trainings as variants: of a printed text, and of a loop written by hand."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed as dist

from benchmarks.paired import ROOT
from specc.api import Spec, load

CPU = torch.device("cpu")


def timed_steps(steps: Iterator[object], count: int) -> Callable[[], float]:
    """A variant: seconds of a step, over `count` of them, between two barriers."""

    def run() -> float:
        dist.barrier()
        start = time.perf_counter()
        for _ in range(count):
            next(steps)
        dist.barrier()
        return (time.perf_counter() - start) / count

    return run


def spec_of(name: str, overrides: Sequence[str], world: int) -> Spec:
    """A spec of the repository, long enough for any benchmark."""
    wanted = ["train.steps=1_000_000", *overrides]
    return load(ROOT / "specs" / name, target="cpu", overrides=wanted, world=world)


def module_of(text: str, name: str) -> ModuleType:
    """A text as a module that lies in a file, as a script does."""
    path = Path(tempfile.mkdtemp(prefix="specc_bench_")) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def steps_of(module: ModuleType, *, drawn: int = 0) -> Iterator[object]:
    """Records of the text's own build and train, its data drawn in a thread as main does.

    Args:
        drawn: so many batches are drawn beforehand and repeated; 0 draws a new one for each step.
    """
    model, optimizer = module.build(CPU)
    batches = module.batches(CPU, 0)
    source = cycle(list(islice(batches, drawn))) if drawn else module.ahead(batches)
    return module.train(model, optimizer, source)
