"""Ranks that cannot be one group are told why, by rank and node; a process alone is a world."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from specc.parts.start import agree, join, own_facts, places

CPU, MINUTE = torch.device("cpu"), timedelta(minutes=1)


def facts(node: str = "a", script: str = "3f9a", torch: str = "2.7.1") -> dict[str, str]:
    return {"node": node, "script": script, "torch": torch, "python": "3.11"}


def agree_all(posted: dict[int, dict[str, str]], size: int, limit_s: float = 5) -> list[str]:
    """What each rank of `posted` is told, ranks as threads over one store."""
    store = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]  documented
    limit = timedelta(seconds=limit_s)
    with ThreadPoolExecutor(len(posted)) as ranks:
        told = [ranks.submit(agree, store, rank, size, own, limit) for rank, own in posted.items()]
        return [one.result() for one in told]


def test_equal_facts_are_agreed_on_whatever_the_nodes() -> None:
    assert agree_all({0: facts("a"), 1: facts("a"), 2: facts("b")}, size=3) == ["", "", ""]


def test_what_differs_is_listed_with_ranks_and_nodes_on_every_rank() -> None:
    posted = {
        0: facts("a"),
        1: facts("a"),
        2: facts("b", script="77aa", torch="2.9.1"),
        3: facts("b", script="77aa"),
    }
    expected = (
        "the ranks do not run the same program"
        "\n  script: 3f9a on ranks 0-1 of a; 77aa on ranks 2-3 of b"
        "\n  torch: 2.7.1 on ranks 0-1 of a, rank 3 of b; 2.9.1 on rank 2 of b"
    )

    assert agree_all(posted, size=4) == [expected] * 4


def test_missing_ranks_are_listed_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    posted = {0: facts("a"), 1: facts("a"), 3: facts("b")}

    assert (
        agree_all(posted, size=6, limit_s=0.2)
        == ["no answer within 0 s from rank 2 of b, ranks 4-5 of node 2"] * 3
    )


def test_a_missing_rank_0_is_said_too() -> None:
    assert agree_all({1: facts()}, size=2, limit_s=0.5) == ["rank 0 did not answer within 1 s"]


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ({0: "a"}, "rank 0 of a"),
        ({0: "a", 1: "a", 2: "b", 3: "a"}, "ranks 0-1 of a, rank 2 of b, rank 3 of a"),
        ({5: "b", 1: "b", 4: "b"}, "rank 1 of b, ranks 4-5 of b"),
    ],
)
def test_ranks_are_written_in_runs(nodes: dict[int, str], text: str) -> None:
    assert places(nodes) == text


def test_another_text_is_another_fact() -> None:
    own, other = own_facts(__file__), own_facts(os.__file__)

    assert own["script"] != other["script"]
    assert own | {"script": ""} == other | {"script": ""}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.mark.usefixtures("alone")
def test_a_process_alone_is_a_world_of_one() -> None:
    join("toy", "gloo", CPU, {"dp": 1}, MINUTE, __file__)
    total = torch.ones(2)
    dist.all_reduce(total)

    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    assert total.tolist() == [1, 1]


@pytest.mark.usefixtures("alone")
def test_a_process_alone_is_told_how_to_start_the_others() -> None:
    with pytest.raises(SystemExit) as told:
        join("longctx", "gloo", CPU, {"dp": 4, "cp": 4}, MINUTE, __file__)

    assert told.value.code == (
        "longctx needs 16 ranks (dp=4 x cp=4): start it with torchrun --nproc-per-node=16"
    )
    assert not dist.is_initialized()


@pytest.mark.usefixtures("alone")
def test_a_group_that_exists_is_used_if_it_has_the_size() -> None:
    join("toy", "gloo", CPU, {"dp": 1}, MINUTE, __file__)

    join("toy", "gloo", CPU, {"dp": 1, "cp": 1}, MINUTE, __file__)
    with pytest.raises(ValueError, match=r"toy needs 2 ranks \(dp=2\), the process group has 1"):
        join("toy", "gloo", CPU, {"dp": 2}, MINUTE, __file__)
