"""A training goes on from its checkpoint on any number of ranks; a killed save costs nothing."""

from pathlib import Path

import pytest

from specc.runtime.pool import JobFailed, Pool
from tests.runs import checkpoint_jobs as jobs
from tests.runs.parity import Mesh, spec

pytestmark = pytest.mark.run


def test_the_same_mesh_goes_on_bitwise(pool: Pool, tmp_path: Path) -> None:
    expected = pool.run(jobs.start, str(tmp_path), "fsdp", world=2)

    assert pool.run(jobs.go_on, str(tmp_path), "fsdp", world=2) == expected
    assert expected[0] == expected[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step_3"]


@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        (("fsdp", 2), ("fsdp", 1)),
        (("fsdp", 2), ("fsdp", 4)),
        (("fsdp", 4), ("fsdp", 2)),
        (("fsdp", 2), ("hsdp", 4)),
        (("hsdp", 4), ("ddp", 2)),
        (("ddp", 2), ("fsdp", 2)),
    ],
    ids=lambda side: "".join(map(str, side)),
)
def test_another_mesh_loads_the_same_bits(
    pool: Pool, tmp_path: Path, saved: tuple[str, int], loaded: tuple[str, int]
) -> None:
    digest, losses = pool.run(jobs.start, str(tmp_path), saved[0], world=saved[1])[0]

    for own_digest, own_losses in pool.run(jobs.go_on, str(tmp_path), loaded[0], world=loaded[1]):
        assert own_digest == digest
        # Before the first update only the order of a sum of 8 differs: a few times fp32's 1.2e-7.
        assert own_losses[0] == pytest.approx(losses[0], rel=1e-6)


def test_parameters_split_by_their_dims_load_on_any_mesh(pool: Pool, tmp_path: Path) -> None:
    def job(sizes: tuple[tuple[str, int], ...], world: int, steps: int) -> set[str]:
        text = spec("fused", Mesh("sp", world, sizes)).text()
        return set(pool.run(jobs.printed, text, str(tmp_path), steps, world=world))

    saved = job((("tp", 2),), 2, 2)
    assert len(saved) == 1
    assert job((("tp", 2), ("cp", 2)), 4, 0) == saved
    assert job((), 2, 0) == saved


@pytest.mark.parametrize("rank", [0, 1])
def test_a_save_that_is_killed_leaves_the_one_before(pool: Pool, tmp_path: Path, rank: int) -> None:
    with pytest.raises(JobFailed, match=f"rank {rank} of 2 failed first"):
        pool.run(jobs.die_in_save, str(tmp_path), rank, world=2)

    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"step_3", "step_4.tmp", "latest"}
    assert (tmp_path / "latest").read_text(encoding="utf-8") == "step_3\n"
    first, second = pool.run(jobs.go_on, str(tmp_path), "fsdp", world=2)
    assert first == second
    assert len(first[1]) == 3
