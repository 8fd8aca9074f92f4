"""Ring attention is attention over all tokens, whoever holds them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from specc.check.mesh import axis_sizes
from specc.emit.link import run_text
from specc.plan.collectives import collectives
from specc.plan.exact import exact
from specc.plan.facts import Facts
from specc.printing.text import print_text
from specc.runtime.observed import Training
from specc.runtime.pool import Pool
from specc.runtime.verdict import judge
from tests.runs import ring_jobs as jobs
from tests.runs.parity import TIMEOUT_S, Mesh, spec

pytestmark = pytest.mark.run

LIMITS: tuple[dict[str, Any], ...] = (
    *({"window": window} for window in (2, 7, 12, 13, 14, 30, 1000)),  # a rank holds 12 tokens
    {"cap": 0.7},
    {"cap": 0.7, "causal": True},
    {"cap": 0.7, "window": 14},
)
CAUSAL = tuple({**each, "causal": True} for each in ({}, *LIMITS) if "causal" not in each)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "kv", "width"), [(4, 4, 8), (4, 2, 6), (3, 1, 8)])
@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_every_rank_has_its_piece(
    pool: Pool, world: int, heads: int, kv: int, width: int, causal: bool
) -> None:
    settings = {"causal": causal}
    for found in pool.run(jobs.pieces, heads, kv, width, torch.float32, settings, world=world):
        assert max(found.values()) < 2e-6, found


@pytest.mark.parametrize("world", [1, 2, 3, 4])
@pytest.mark.parametrize(("job", "limits"), [(jobs.ringed, LIMITS), (jobs.zigzagged, CAUSAL)])
def test_every_rank_sees_what_its_limits_let_it(
    pool: Pool, world: int, job: Callable[..., Any], limits: tuple[dict[str, Any], ...]
) -> None:
    for found in pool.run(job, limits, world=world):
        off = {name: errors for name, errors in found.items() if max(errors.values()) > 2e-6}
        assert off == {}
        assert len(found) == len(limits)


def test_lower_precision_keeps_its_sums_in_fp32(pool: Pool) -> None:
    for found in pool.run(jobs.pieces, 4, 2, 8, torch.bfloat16, {"causal": True}, world=4):
        assert max(found.values()) < 1e-2, found


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_in_zigzag_order_each_rank_holds_an_early_and_a_late_half(pool: Pool, world: int) -> None:
    for rank, (first, last) in enumerate(pool.run(jobs.halves, world=world)):
        early, late = rank, 2 * world - 1 - rank
        assert first == [early, early, late, late]
        assert last == [1000 + half for half in first]


@pytest.mark.parametrize("world", [2, 3, 4])
def test_in_zigzag_order_all_ranks_have_the_same_work_in_every_hop(pool: Pool, world: int) -> None:
    """Pairs of a query and a key whose scores are computed."""
    by_rank = pool.run(jobs.work, world=world)
    assert all(rank == by_rank[0] for rank in by_rank)
    own, *others = by_rank[0]
    assert set(others) == {jobs.PIECE**2 // 2}
    assert own <= jobs.PIECE**2


ONE = Mesh(None, 1)
MESHES = [
    ("llama", Mesh("zigzag", 4, (("cp", 2),))),
    ("llama", Mesh("zigzag", 4, (("cp", 4),))),
    ("local", Mesh(None, 4, (("cp", 4), ("r", 4), ("u", 1)))),
    ("local", Mesh(None, 4, (("cp", 4), ("r", 2), ("u", 2)))),
    ("local", Mesh("mixed", 4, (("cp", 4), ("r", 2), ("u", 2)))),
    ("local", Mesh("product", 4, (("cp", 4), ("r", 2), ("u", 2)))),
]


def observed(pool: Pool, name: str, mesh: Mesh) -> tuple[list[Training], Facts]:
    """What each rank of a mesh does in two steps, and the plan."""
    facts = exact(spec(name, mesh).facts())
    text = run_text(print_text(facts))
    arguments = (text, name, 2, axis_sizes(facts.mesh), name)
    job = "specc.runtime.observed:observe"
    return pool.run(job, *arguments, world=mesh.world, timeout_s=TIMEOUT_S), facts


@pytest.fixture(scope="module")
def one_rank(pool: Pool) -> dict[str, Training]:
    """Each spec trained by one rank."""
    return {name: observed(pool, name, ONE)[0][0] for name in ("llama", "local")}


@pytest.mark.parametrize(("name", "mesh"), MESHES, ids=str)
def test_a_mesh_trains_what_one_rank_trains_and_sends_what_the_plan_says(
    pool: Pool, one_rank: dict[str, Training], name: str, mesh: Mesh
) -> None:
    found, facts = observed(pool, name, mesh)
    verdict = judge(found, one_rank[name], collectives(facts), axis_sizes(facts.mesh))
    assert verdict.faults == ()
    assert verdict.calls
