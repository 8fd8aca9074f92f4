"""Recipes of the lesson that train something else than they seem to: a spec cannot say them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from specc.api import InvalidSpecError, load
from specc.runtime.differences import differences
from tests.runs import parity_jobs as jobs
from tests.runs.parity import TIMEOUT_S

if TYPE_CHECKING:
    from specc.runtime.pool import Pool

CASES = Path(__file__).parents[1] / "cases" / "lesson"


def test_storage_over_dp_alone_means_copies_over_cp_whose_gradients_are_summed() -> None:
    spec = load(CASES / "storage_over_dp_under_cp.spec", target="cpu")
    storage = spec.facts().layout.storage

    assert (storage.shard, storage.replicate) == (("dp",), ("cp",))
    assert "AVERAGED = DP * CP" in spec.text()
    assert 'mesh_dim_names=("cp", "dp")' in spec.text()


@pytest.mark.run
@pytest.mark.timeout(300)
def test_storage_over_dp_alone_trains_what_one_rank_trains(pool: Pool) -> None:
    path = CASES / "storage_over_dp_under_cp.spec"
    whole = load(path, target="cpu", overrides=("mesh.dp=1", "mesh.cp=1"))
    (expected,) = pool.run(jobs.train, whole.text(), "one", world=1, timeout_s=TIMEOUT_S)
    found = pool.run(
        jobs.train, load(path, target="cpu").text(), "four", world=4, timeout_s=TIMEOUT_S
    )

    assert {rank.bits for rank in found} == {found[0].bits}  # copies do not drift apart
    assert differences(found[0], expected) == []


@pytest.mark.parametrize(("target", "device"), [("musa", "torch.musa"), ("cuda", "torch.cuda")])
def test_a_process_takes_the_device_of_its_local_rank(target: str, device: str) -> None:
    script = load(CASES / "binding_by_global_rank.spec", target=target).script()

    assert 'device = torch.device(DEVICE, int(os.environ.get("LOCAL_RANK", "0")))' in script
    assert re.findall(rf"{re.escape(device)}\.set_device\((.*)\)", script) == ["device"]


@pytest.mark.parametrize("words", ["launch.device=rank", "train.device=rank", "mesh.device=rank"])
def test_no_setting_binds_devices(words: str) -> None:
    with pytest.raises(InvalidSpecError, match="E0606"):
        load(CASES / "binding_by_global_rank.spec", target="musa", overrides=(words,))


@pytest.mark.run
@pytest.mark.timeout(300)
def test_ranks_draw_their_rows_of_one_batch(pool: Pool) -> None:
    path = CASES / "unseeded_data_per_rank.spec"

    def drawn(world: int) -> list[torch.Tensor]:
        text = load(path, target="cpu", world=world).text()
        return pool.run(
            jobs.first_batch, text, "drawn", world=world, group=False, timeout_s=TIMEOUT_S
        )

    (whole,) = drawn(1)
    for world in (2, 3):
        parts = drawn(world)
        assert torch.cat(parts).equal(whole)
        assert not parts[0].equal(parts[1])
    assert drawn(1)[0].equal(whole)  # and again


def test_data_without_a_seed_cannot_be_said() -> None:
    with pytest.raises(InvalidSpecError, match="seed"):
        load(CASES / "unseeded_data_per_rank.spec", target="cpu", overrides=("train.seed=none",))
