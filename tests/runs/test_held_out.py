"""The held-out loss is the loss that is trained on, whatever the mesh and the terms."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from specc.api import load
from specc.runtime.pool import Pool
from tests.runs import held_out_jobs as jobs
from tests.runs.parity import TIMEOUT_S

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

SPEC = Path(__file__).parents[1] / "cases" / "parity" / "held_out.spec"
IGNORED = "cross_entropy(logits, labels, ignore = 32)"
SCALED = "0.5*cross_entropy(logits, labels)"
SEVERAL = "cross_entropy(logits, labels) + 0.1*cross_entropy(logits, labels, smooth = 0.2)"
MESHES = [
    (1, (), None),
    (2, (), None),
    (4, ("mesh.cp=2",), None),
    (2, ("mesh.same=2",), None),
    (2, ("mesh.tp=2",), None),
    (4, ("mesh.tp=2",), "sp"),
]


@pytest.fixture(scope="module")
def scored(pool: Pool) -> tuple[Tensor, Tensor]:
    """Labels and logits of all held-out batches, on one rank."""
    text = load(SPEC, target="cpu", world=1).text()
    ((_, pairs),) = pool.run(jobs.held_out, text, world=1, timeout_s=TIMEOUT_S)
    labels, logits = zip(*pairs, strict=True)
    return torch.cat(labels).flatten(), torch.cat(logits).flatten(0, 1)


def expected(loss: str, labels: Tensor, logits: Tensor) -> float:
    mean = F.cross_entropy(logits, labels, ignore_index=32 if loss == IGNORED else -100)
    smooth = F.cross_entropy(logits, labels, label_smoothing=0.2)
    return {IGNORED: mean, SCALED: 0.5 * mean, SEVERAL: mean + 0.1 * smooth}[loss].item()


@pytest.mark.parametrize(("world", "sets", "layout"), MESHES)
@pytest.mark.parametrize("loss", [IGNORED, SCALED, SEVERAL])
def test_a_held_out_loss_is_the_mean_over_what_counts(
    pool: Pool,
    tmp_path: Path,
    scored: tuple[Tensor, Tensor],
    loss: str,
    world: int,
    sets: tuple[str, ...],
    layout: str | None,
) -> None:
    path = tmp_path / "held_out.spec"
    path.write_text(SPEC.read_text(encoding="utf-8").replace(IGNORED, loss), encoding="utf-8")
    text = load(path, target="cpu", layout=layout, overrides=sets, world=world).text()
    found = pool.run(jobs.held_out, text, world=world, timeout_s=TIMEOUT_S)

    assert [value.item() for value, _ in found] == pytest.approx(
        [expected(loss, *scored)] * world, rel=1e-6
    )
