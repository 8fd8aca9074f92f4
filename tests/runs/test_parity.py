"""Any legal mesh trains the same model: against one rank on the same global batch, in fp32."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from specc.api import load
from specc.runtime.differences import (
    TOLERANCE,
    differences,
    disagreements,
    final_differences,
)
from specc.runtime.execute import train_records
from specc.runtime.pool import Pool
from tests.runs import parity_jobs as jobs
from tests.runs import written_jobs as written
from tests.runs.parity import TIMEOUT_S, Mesh, texts

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).parents[2] / "specs"

ONE = Mesh(None, 1)
WORLDS = [  # without storage rules of their own: data, sequence, both
    (1, ()),
    (2, ()),
    (4, ()),
    (2, (("cp", 2),)),
    (4, (("cp", 2),)),
    (4, (("cp", 4),)),
]
HYBRIDS = [  # copies over rep; storage over the rest
    (2, (("rep", 2),)),
    (4, (("rep", 2),)),
    (4, (("rep", 2), ("cp", 2))),
]
REPLICATE = [Mesh(None, *world) for world in WORLDS[1:]]
PARAMS = [Mesh("params", *world) for world in WORLDS]
DATA = [Mesh("data", *world) for world in WORLDS[3:]]  # storage over dp only: copies over cp
HYBRID = [Mesh("hsdp", *world) for world in HYBRIDS]
ALL = REPLICATE + PARAMS + DATA + HYBRID
# Stages of ZeRO differ from the others by what they gather and reduce when.
STAGES = [Mesh("grads", *WORLDS[1]), Mesh("grads", *WORLDS[4]), Mesh("optim", *WORLDS[1])]
RING = [Mesh("ring", *world) for world in WORLDS[3:]]  # keys travel instead of heads
TENSOR = [  # parameters split by their dims, alone and with everything else
    *(Mesh(None, 2 * n, (("tp", 2), ("cp", n))) for n in (1, 2)),
    *(Mesh("sp", *world) for world in ((2, (("tp", 2),)), (4, (("tp", 4),)), (4, (("tp", 2),)))),
    *(Mesh("sp", n, (("tp", 2), ("cp", 2))) for n in (4, 8)),
    *(Mesh("ring", *world) for world in ((4, (("tp", 4),)), (4, (("tp", 2), ("cp", 2))))),
    Mesh("hsdp", 8, (("tp", 2), ("rep", 2))),
    Mesh("hsdp", 4, (("tp", 2), ("cp", 2))),
]
FUSED = [
    *(Mesh(layout, 4, (("tp", 2), ("cp", 2))) for layout in (None, "sp", "labels")),
    Mesh("sp", 4, (("tp", 2),)),
    Mesh("labels", 2, (("tp", 2),)),
]
EXTERNS = [  # classes and functions of one's own, on pieces
    REPLICATE[0],
    Mesh(None, 2, (("tp", 2),)),
    *(Mesh(layout, 4, (("tp", 2),)) for layout in ("sp", "units")),
    Mesh("sp", 4, (("tp", 4),)),
]
COPIES = [  # ranks that repeat the work of others
    Mesh(layout, 4, (("same", 2), *more))
    for layout, more in ((None, ()), (None, (("cp", 2),)), ("params", ()), ("data", (("cp", 2),)))
]
MESHES = {
    "tiny": [REPLICATE[1], PARAMS[0], PARAMS[4], *HYBRID, *STAGES[:1]],
    "llama": ALL + RING,
    "gpt": [REPLICATE[3], PARAMS[1], DATA[1], HYBRID[2], *STAGES[1:], RING[1]],
    "ignored": [REPLICATE[0], REPLICATE[3], PARAMS[1], PARAMS[4], DATA[1], HYBRID[2]],
    "tensor": TENSOR,
    "fused": FUSED,
    "pieces": [Mesh(None, 4, (("tp", 2),)), Mesh("sp", 4, (("tp", 2),))],
    "externs": EXTERNS,
    "whole": [REPLICATE[2], PARAMS[4], DATA[1], *COPIES],
}
CASES = [
    pytest.param(
        name,
        mesh,
        id=f"{name}-{mesh}",
        marks=[pytest.mark.slow] if mesh.world > 4 else [],  # to start them takes a minute
    )
    for name, meshes in MESHES.items()
    for mesh in meshes
]


@pytest.fixture(scope="module")
def one_rank(pool: Pool) -> dict[str, list[jobs.Training]]:
    """Each spec trained by one rank without any storage rule."""
    return {
        name: pool.run(jobs.trainings, texts(name, ONE), world=1, timeout_s=TIMEOUT_S)[0]
        for name in MESHES
    }


@pytest.mark.parametrize(("name", "job"), [("llama", written.llama), ("ignored", written.tagger)])
def test_one_rank_trains_what_a_person_writes(
    pool: Pool, one_rank: dict[str, list[jobs.Training]], name: str, job: Callable
) -> None:
    text = texts(name, ONE)[0][0]
    (expected,) = pool.run(job, text, world=1, timeout_s=TIMEOUT_S)

    assert differences(one_rank[name][0], expected) == []


@pytest.mark.parametrize(("name", "mesh"), CASES)
def test_a_mesh_trains_what_one_rank_trains(
    pool: Pool, one_rank: dict[str, list[jobs.Training]], name: str, mesh: Mesh
) -> None:
    by_rank = pool.run(jobs.trainings, texts(name, mesh), world=mesh.world, timeout_s=TIMEOUT_S)

    (adamw, sgd), (true_adamw, true_sgd) = by_rank[0], one_rank[name]
    assert differences(adamw, true_adamw) == []
    assert differences(sgd, true_sgd) == []
    assert final_differences(sgd, true_sgd) == []
    assert disagreements(by_rank) == []


def test_ranks_with_fewer_keys_than_ranks_share_copies(pool: Pool) -> None:
    few, one = Mesh("few", 4, (("cp", 4),)), Mesh(None, 1)
    by_rank = pool.run(jobs.trainings, texts("llama", few, "kv=2"), world=4, timeout_s=TIMEOUT_S)
    (true_adamw, _), *_ = pool.run(
        jobs.trainings, texts("llama", one, "kv=2"), world=1, timeout_s=TIMEOUT_S
    )

    assert differences(by_rank[0][0], true_adamw) == []
    assert disagreements(by_rank) == []


@attrs.frozen
class Whole:
    """A spec of the repository with a batch of its own, on one rank and on several."""

    path: str
    one: tuple[str, ...]
    many: tuple[int, tuple[str, ...]]


WHOLE = [
    Whole("quickstart/quickstart", ("mesh.dp=1",), (2, ())),
    Whole("hsdp", ("mesh.dp=1", "mesh.rep=1", "mesh.fsdp=1"), (4, ())),
    Whole("zero1", (), (2, ())),
    Whole("tied", (), (4, ())),
    Whole("repeat", (), (2, ())),
]
FEWER = {  # sizes and steps that a test can afford
    "quickstart/quickstart": ("S=32", "depth=2", "train.evaluate { every = 2, batches = 2 }"),
    "zero1": ("train.steps=3",),
}


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.path)
def test_specs_of_the_repository_train_alike_on_one_rank_and_on_several(
    pool: Pool, case: Whole
) -> None:
    def records(world: int, sets: tuple[str, ...]) -> list[dict]:
        given = ("B=8", *FEWER.get(case.path, ()), *sets)
        path = REPOSITORY / f"{case.path}.spec"
        text = load(path, target="cpu", overrides=given, world=world).text()
        return pool.run(train_records, text, "whole", 3, world=world, timeout_s=TIMEOUT_S)[0]

    expected, found = records(1, case.one), records(*case.many)

    assert len(found) == len(expected) == 3
    assert found[0]["weights"] == expected[0]["weights"]
    for row, true in zip(found, expected, strict=True):
        assert row.keys() == true.keys()
        for key in {"loss", "grad_norm", "held_out_loss"} & row.keys():
            assert row[key] == pytest.approx(true[key], rel=TOLERANCE), (key, row["step"])
