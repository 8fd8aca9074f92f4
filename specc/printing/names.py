"""One allocator of the text's Python names, and the index of the parts that it may call."""

from __future__ import annotations

import ast
import builtins
import keyword
from functools import cache

import attrs

from specc.resources import part_names, part_source

# What a free name of the text stands for when it is neither defined there nor a part.
IMPORTS = {
    "DistributedDataParallel": "from torch.nn.parallel import DistributedDataParallel",
    "F": "import torch.nn.functional as F",
    "CPUOffloadPolicy": "from torch.distributed.fsdp import CPUOffloadPolicy",
    "MixedPrecisionPolicy": "from torch.distributed.fsdp import MixedPrecisionPolicy",
    "DeviceMesh": "from torch.distributed.device_mesh import DeviceMesh",
    "checkpoint": "from torch.utils.checkpoint import checkpoint",
    "dist": "import torch.distributed as dist",
    "fully_shard": "from torch.distributed.fsdp import fully_shard",
    "init_device_mesh": "from torch.distributed.device_mesh import init_device_mesh",
    "islice": "from itertools import islice",
    "nn": "from torch import nn",
    "nullcontext": "from contextlib import nullcontext",
    "os": "import os",
    "record": "from torch.distributed.elastic.multiprocessing.errors import record",
    "timedelta": "from datetime import timedelta",
    "torch": "import torch",
}


@cache
def part_index() -> dict[str, str]:
    """The module of `specc.parts` that defines each name at its top level."""
    index: dict[str, str] = {}
    for module in part_names():
        for node in ast.parse(part_source(module)).body:
            for name in defined_names(node):
                index[name] = module
    return index


def defined_names(node: ast.stmt) -> tuple[str, ...]:
    """Names that a top-level statement of a part defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


@cache
def reserved_names() -> frozenset[str]:
    """Names that a value of a spec must not take in the text."""
    return frozenset({*keyword.kwlist, *dir(builtins), *IMPORTS, *part_index(), "self"})


@attrs.define
class Names:
    """Names taken in one scope of the text."""

    taken: set[str] = attrs.field(factory=set[str])
    _given: dict[str, str] = attrs.field(factory=dict[str, str])

    def of(self, name: str) -> str:
        """The Python name of a spec's name; always the same for the same name."""
        if name not in self._given:
            self._given[name] = self.fresh(name)
        return self._given[name]

    def fresh(self, *wanted: str) -> str:
        """Take the first of the wanted names that is free, or the last one with a number."""
        last = wanted[-1] if wanted[-1][:1].isupper() else f"{wanted[-1]}_"
        candidates = [*wanted, *(f"{last}{number}" for number in range(2, 1000))]
        name = next(n for n in candidates if n not in self.taken and n not in reserved_names())
        self.taken.add(name)
        return name
