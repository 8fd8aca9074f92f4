"""What a text builds is what the Plan says: names, shapes, types, ties, units and placements."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import torch
from torch import nn

from specc.api import load
from specc.diagnostics import SpeccError
from specc.plan.holding import holding
from specc.plan.tensor import parameter_dim
from specc.program.model import Chain, Foreign, PartList
from tests.runs import built_jobs as jobs
from tests.runs.parity import TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specc.plan.facts import Facts, Module
    from specc.runtime.pool import Pool

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "specs"
PARITY = ROOT / "tests" / "cases" / "parity"
ZOO = {  # as the reference classes of transformers count them
    "llama31_8b": 8_030_261_248,
    "qwen3_8b": 8_190_735_360,
    "gpt2_124m": 124_439_808,
    "gemma2_9b": 9_241_705_984,
}
LONGCTX = 8_030_261_248
MEMORY_GIB = 0.7


@attrs.frozen
class Case:
    """A spec in a situation."""

    path: Path
    world: int | None = None
    profile: str | None = None
    layout: str | None = None
    sets: tuple[str, ...] = ()
    target: str | None = None

    def __str__(self) -> str:
        words = (self.path.stem, self.world, self.profile, self.layout, *self.sets, self.target)
        return "-".join(str(word) for word in words if word)

    def facts_and_text(self) -> tuple[Facts, str]:
        spec = load(
            self.path,
            target=self.target or ("cpu" if self.world else None),
            profile=self.profile,
            layout=self.layout,
            overrides=self.sets,
            world=self.world,
        )
        return spec.facts(), spec.text()


def runs() -> Iterator[Case]:
    """Every spec that is a run as it stands, and with each profile and layout that it has."""
    for path in sorted(SPECS.rglob("*.spec")):
        spec = load(path, target="cpu")
        try:
            facts = spec.facts()
        except SpeccError:  # a library
            continue
        yield Case(path)
        program = facts.program
        yield from (Case(path, 4, profile=name) for name in program.profiles)
        yield from (Case(path, 4, layout=name) for name in program.layouts if name)


CASES = [
    *runs(),
    Case(SPECS / "longctx.spec", target="cuda"),
    *(
        Case(PARITY / "gpt.spec", 4, layout=layout, sets=sets)
        for layout in ("params", "data", "hsdp", "grads", "optim")
        for sets in (("mesh.cp=2",), ("mesh.rep=2",))
    ),
    Case(PARITY / "ignored.spec", 4, layout="hsdp", sets=("mesh.rep=2", "mesh.cp=2")),
    Case(PARITY / "whole.spec", 4, layout="data", sets=("mesh.same=2", "mesh.cp=2")),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_built_is_what_is_planned(pool: Pool, case: Case) -> None:
    facts, text = case.facts_and_text()
    rank = facts.mesh.world - 1  # the last one has the shorter parts
    arguments = (text, case.path.stem, facts.mesh.world, rank, str(SPECS))
    (built,) = pool.run(jobs.build, *arguments, world=1, timeout_s=TIMEOUT_S, group=False)

    assert built.tensors == tuple(planned_tensors(facts))
    assert built.tied == planned_ties(facts)
    assert sorted(map(comparable, built.units)) == sorted(map(comparable, planned_units(facts)))
    assert reshards(built) == planned_reshards(facts)
    assert known_types(built, facts) == planned_types(facts)
    assert built.held == holding(facts, rank)


def planned_tensors(facts: Facts) -> Iterator[jobs.BuiltTensor]:
    """Every tensor; a frozen one learns nothing, a Buffer lies whole on every rank."""
    kind, ranks = facts.layout.storage.kind, mesh_ranks(facts)
    placement = ("R",) * (kind == "replicate" or bool(facts.layout.storage.replicate)) + ("S(0)",)
    split = facts.layout.tensor
    for p in facts.parameters:
        learns = p.trained and not p.frozen
        placed = p.trained and kind != "ddp"
        dim = parameter_dim(p.shape, split)
        inner = () if split is None else ("R" if dim is None else f"S({dim})",)
        where = ((*placement, *inner), ranks) if placed else ((), None)
        yield jobs.BuiltTensor(p.name, p.sizes, "fp32", learns, *where)


def mesh_ranks(facts: Facts) -> Any:
    """Ranks of the mesh of parameters: copies outside, then shards, then a tensor split."""
    storage, split = facts.layout.storage, facts.layout.tensor
    if storage.kind == "ddp":
        return None
    dims = [storage.replicate] if storage.replicate else []
    dims += [storage.shard, *([split.axes] if split is not None else [])]
    ranks = torch.zeros((), dtype=torch.int64)
    for axes in dims:
        ranks = ranks.unsqueeze(-1) + torch.tensor(along(facts, axes))
    return ranks.tolist()


def along(facts: Facts, axes: tuple[str, ...]) -> list[int]:
    """Ranks along a product of axes, from rank 0 on, the first axis outermost."""
    found = [facts.mesh.axis(name) for name in axes]
    steps = [[i * axis.stride for i in range(axis.size.value)] for axis in found]
    return [sum(step) for step in itertools.product(*steps)]


def planned_ties(facts: Facts) -> frozenset[frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for p in facts.parameters:
        if p.tied_to is not None:
            groups.setdefault(p.tied_to, {p.tied_to}).add(p.name)
    return frozenset(map(frozenset, groups.values()))


def planned_units(facts: Facts) -> Iterator[jobs.BuiltUnit]:
    for unit in facts.layout.storage.units:
        if unit.parameters:
            names, precision = frozenset(unit.parameters), unit.precision
            yield jobs.BuiltUnit(names, precision.params, precision.reduce, unit.reshard is True)


def comparable(unit: jobs.BuiltUnit) -> tuple[list[str], str, str]:
    return sorted(unit.parameters), unit.params, unit.reduce


def reshards(built: jobs.BuiltModel) -> dict[frozenset[str], bool]:
    return {unit.parameters: unit.reshard for unit in built.units}


def planned_reshards(facts: Facts) -> dict[frozenset[str], bool]:
    """Whether each unit frees its parameters; torch lets the root begin as if it did."""
    units = facts.layout.storage.units
    return {frozenset(u.parameters): u.reshard is not False for u in units if u.parameters}


def known_types(built: jobs.BuiltModel, facts: Facts) -> dict[str, str]:
    """Class of each module but the model and those inside an extern, of which nobody knows."""
    foreign = tuple(f"{m.path}." for m in facts.model.walk() if isinstance(m.what, Foreign))
    return {
        path: numberless(kind)
        for path, kind in built.types.items()
        if path and not path.startswith(foreign)
    }


def planned_types(facts: Facts) -> dict[str, str]:
    """Class of each module; a tensor of its own is none."""
    return {
        module.path: numberless(planned_type(module))
        for module in facts.model.walk()
        if module.path and module.type not in ("Param", "Buffer")
    }


def numberless(kind: str) -> str:
    """A type without the number of its variant: blocks that print otherwise have classes apart.

    The same for a layer whose weights are split, or may be.
    """
    kind = re.sub(r"^(Local|Row|Vocab|Segmented)(?=Linear$|Embedding$|.+Norm$)", "", kind)
    return kind.rstrip("0123456789")


def planned_type(module: Module) -> str:
    if isinstance(module.what, PartList):
        return "ModuleList"
    return "Sequential" if isinstance(module.what, Chain) else module.type


# ------------------------------------------------------------------------------------- counts


@pytest.mark.parametrize("name", ZOO)
def test_models_of_the_zoo_have_as_many_parameters_as_the_originals(name: str) -> None:
    facts = load(SPECS / "zoo" / f"{name}.spec", target="cpu").facts()

    assert count(facts) == ZOO[name]


def count(facts: Facts) -> int:
    return sum(p.numel for p in facts.parameters if p.trained and p.tied_to is None)


class Block(nn.Module):
    """The lesson's block."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.attn = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)


class TinyLLM(nn.Module):
    """The lesson's model."""

    def __init__(self, dim: int = 4096, depth: int = 8, vocab: int = 32_000) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)


def test_tinyllm_is_the_model_of_the_lesson() -> None:
    facts = load(SPECS / "tinyllm.spec", target="cpu").facts()
    with torch.device("meta"):
        lesson = TinyLLM()

    assert [(p.name, p.sizes) for p in facts.parameters] == [
        (name, tuple(p.shape)) for name, p in lesson.named_parameters()
    ]
    assert count(facts) == sum(p.numel() for p in lesson.parameters())


MEASURED = """
import json, sys, time
from pathlib import Path

start = time.perf_counter()
from specc.cli import main

code = main(["build", sys.argv[1], "-q"])
seconds, cpu = time.perf_counter() - start, time.process_time()
peak = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM"))
gib = int(peak.split()[1]) / 2**20
print(json.dumps({"code": code, "seconds": seconds, "cpu": cpu, "gib": gib}))
"""


def test_longctx_builds_for_sixteen_ranks_on_a_laptop() -> None:
    path = SPECS / "longctx.spec"
    facts = load(path).facts()
    assert (facts.target.device, facts.mesh.world, count(facts)) == ("musa", 16, LONGCTX)

    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=ROOT,
    )

    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    print(
        f"longctx for 16 ranks: {measured['seconds']:.1f} s, {measured['cpu']:.1f} s of CPU,"
        f" {measured['gib']:.2f} GiB"
    )
    assert measured["code"] == 0, done.stderr
    assert measured["gib"] < MEMORY_GIB
