"""What is executed and what is printed are one training: records and weights agree to the bit."""

from pathlib import Path

import attrs
import pytest

from specc.api import load
from specc.runtime.pool import Pool
from tests.runs import script_jobs as jobs
from tests.runs.parity import TIMEOUT_S

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

SPECS = Path(__file__).parents[2] / "specs"
STEPS = 3


@attrs.frozen
class Pair:
    """A spec on a mesh, in a size that a laptop trains."""

    spec: str
    world: int
    profile: str | None = None
    layout: str | None = None
    sets: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = (self.spec, str(self.world), self.profile, self.layout)
        return "-".join(word for word in words if word)


GRID = ("mesh.cp=4", "mesh.r=2", "mesh.u=2")
PAIRS = [
    Pair("toy_ddp", 1, sets=("din=32", "hid=64", "dout=16")),
    Pair("toy_ddp", 2, sets=("din=32", "hid=64", "dout=16")),
    Pair("tinyllm", 2, "laptop"),
    Pair("longctx", 2, "smoke", sets=("S=128",)),
    Pair("longctx", 4, "smoke", sets=("S=128",)),
    Pair("hsdp", 4),
    Pair("zero1", 2),
    Pair("tied", 2),
    Pair("ring", 4, sets=("mesh.cp=2",)),
    Pair("ring", 4, layout="zigzag", sets=("S=64",)),
    Pair("../tests/cases/parity/local", 4, layout="mixed", sets=GRID),
    Pair("tensor", 4, sets=("mesh.cp=2",)),
    Pair("../tests/cases/parity/fused", 4, layout="labels", sets=("mesh.cp=2", "mesh.tp=2")),
    Pair("../tests/cases/parity/externs", 4, layout="units", sets=("mesh.tp=2",)),
    Pair("repeat", 2),
    Pair("rules", 4),
    Pair("rules", 2, layout="whole"),
    Pair("extern", 2),
    Pair("quickstart/quickstart", 2, sets=("S=32", "train.evaluate.batches=2")),
    Pair("zoo/llama31_8b", 2, "smoke"),
    Pair("zoo/qwen3_8b", 2, "smoke"),
    Pair("zoo/gpt2_124m", 2, "smoke"),
    Pair("zoo/gemma2_9b", 2, "smoke"),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_script_trains_what_is_run(pool: Pool, tmp_path: Path, pair: Pair) -> None:
    spec = load(
        SPECS / f"{pair.spec}.spec",
        target="cpu",
        profile=pair.profile,
        layout=pair.layout,
        overrides=(*pair.sets, f"train.steps={STEPS}"),
        world=pair.world,
    )
    for name in ("run", "script"):
        tmp_path.joinpath(name).mkdir()
    folder, path = str(tmp_path / "run"), str(SPECS)
    run = pool.run(
        jobs.run_text, spec.text(), "run", folder, path, world=pair.world, timeout_s=TIMEOUT_S
    )
    folder = str(tmp_path / "script")
    script = pool.run(
        jobs.run_script, spec.script(), folder, path, world=pair.world, timeout_s=TIMEOUT_S
    )

    (rows, hashes), *_ = run
    assert [row["step"] for row in rows] == list(range(STEPS))
    assert len(hashes) == len(set(hashes)) == STEPS  # the weights move
    assert script == run
