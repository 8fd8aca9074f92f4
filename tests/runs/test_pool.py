"""The pool runs jobs on ranks, names the rank that failed by itself and heals."""

import os
import time

import pytest

from specc.runtime.pool import JobFailed, Pool
from tests.runs import jobs

pytestmark = pytest.mark.run


def test_a_job_runs_on_every_rank_in_its_own_group(pool: Pool) -> None:
    assert pool.run(jobs.add_ranks, world=1) == [0.0]
    assert pool.run(jobs.add_ranks, world=2) == [1.0, 1.0]
    assert pool.run(jobs.add_ranks, world=4) == [6.0] * 4
    assert pool.run("tests.runs.jobs:add_ranks", world=2) == [1.0, 1.0]


def test_a_job_sees_the_variables_of_a_rank(pool: Pool) -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "EXTRA")
    assert pool.run(jobs.environment, *names, world=2, env={"EXTRA": "x"}) == [
        dict(zip(names, ("0", "2", "0", "2", "x"), strict=True)),
        dict(zip(names, ("1", "2", "1", "2", "x"), strict=True)),
    ]


def test_a_job_leaves_environment_and_folder_as_they_were(pool: Pool) -> None:
    before = pool.run(jobs.environment, "PWD", world=1)
    pool.run(jobs.leave_the_environment_changed, world=1)
    assert pool.run(jobs.environment, "LEFT_BEHIND", "RANK", world=1) == [
        {"LEFT_BEHIND": None, "RANK": "0"}
    ]
    assert pool.run(os.getcwd, world=1) == [os.getcwd()]  # noqa: PTH109  importable by name
    assert pool.run(jobs.environment, "PWD", world=1) == before


def test_without_a_group_none_is_made(pool: Pool) -> None:
    assert pool.run(jobs.has_group, world=2, group=False) == [False, False]
    assert pool.run(jobs.has_group, world=2) == [True, True]


def test_a_job_may_end_the_group_itself(pool: Pool) -> None:
    assert pool.run(jobs.end_the_group_oneself, world=2) == [False, False]


def test_processes_are_started_once(pool: Pool) -> None:
    first = pool.run(jobs.process_id, world=2)
    assert pool.run(jobs.process_id, world=2) == first
    assert len(set(first)) == 2


@pytest.mark.parametrize("rank", [0, 1])
def test_an_exception_in_one_rank_is_the_first_cause(pool: Pool, rank: int) -> None:
    with pytest.raises(JobFailed) as caught:
        pool.run(jobs.raise_on, rank, "five does not divide 64", world=2)
    assert str(caught.value).startswith(
        f"rank {rank} of 2 failed first: ValueError: five does not divide 64"
    )
    own, other = caught.value.outcomes[rank], caught.value.outcomes[1 - rank]
    assert "raise_on" in own.traceback
    assert not own.is_consequence
    assert other.is_consequence


def test_a_refusal_to_start_is_a_failure_with_its_text(pool: Pool) -> None:
    with pytest.raises(JobFailed, match="rank 1 of 2 failed first: SystemExit: 16 ranks, not 2"):
        pool.run(jobs.exit_on, 1, "16 ranks, not 2", world=2)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_the_first_cause_and_is_replaced(pool: Pool, rank: int) -> None:
    before = pool.run(jobs.process_id, world=2)
    began = time.monotonic()
    with pytest.raises(JobFailed, match=rf"rank {rank} of 2 failed first: .*SIGKILL"):
        pool.run(jobs.die_on, rank, world=2)
    assert time.monotonic() - began < 15
    after = pool.run(jobs.process_id, world=2)
    assert after[rank] != before[rank]
    assert after[1 - rank] == before[1 - rank]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_hanging_rank_is_the_first_cause_with_the_place_where_it_hangs(
    pool: Pool, rank: int
) -> None:
    with pytest.raises(JobFailed) as caught:
        pool.run(jobs.sleep_on, rank, 1000.0, world=2, timeout_s=3)
    assert str(caught.value).startswith(f"rank {rank} of 2 failed first: no answer in 3 s")
    assert "in sleep_on" in caught.value.outcomes[rank].traceback
    assert pool.run(jobs.add_ranks, world=2) == [1.0, 1.0]


def test_a_result_that_cannot_be_pickled_is_a_failure(pool: Pool) -> None:
    with pytest.raises(JobFailed, match="pickle"):
        pool.run(jobs.unpicklable, world=1)


def test_a_function_that_others_cannot_import_is_refused(pool: Pool) -> None:
    with pytest.raises(ValueError, match="cannot be imported"):
        pool.run(lambda: None, world=1)


def test_an_unknown_job_is_a_failure(pool: Pool) -> None:
    with pytest.raises(JobFailed, match="has no attribute 'nothing'"):
        pool.run("tests.runs.jobs:nothing", world=1)


def test_a_mesh_has_the_groups_of_its_own_job(pool: Pool) -> None:
    for other_groups in (0, 3):
        assert pool.run(jobs.gathered, other_groups, world=4) == [[0, 1, 2, 3, 4]] * 4
