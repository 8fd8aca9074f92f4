"""`specc verify` trains on every mesh, and sees a mesh that trains something else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import attrs
import pytest
import torch

from specc.cli import main
from specc.plan.collective import Collective
from specc.runtime.observed import Training
from specc.runtime.recorder import Collective as Sent
from specc.runtime.verdict import judge
from tests.repository import ROOT
from tests.unit.check.specs import spec

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

FAULTY = """\
specc 1
extern "verify_parts:biased" block Biased[B, d](x: [B, d]) -> [B, d] {
  call = function
  split B
}
dim B = 4*dp, d = 4
model M(x: [B, d]) -> y: [B, d] {
  out: Linear(d -> d)
  return Biased(out(x))
}
mesh { dp = world }
layout { dp: shard B }
train {
  data { x = randn, target: [B, d] = randn }
  loss      = mse(y, target)
  optimizer = SGD(lr = 0.1)
  steps     = 2
}
"""
PART = "import os\n\ndef biased(x):\n    return x * (1 + int(os.environ['RANK']))\n"


def verify(*arguments: str) -> int:
    return main(["verify", *arguments])


def test_meshes_that_train_alike(capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(str(ROOT / "specs" / "rules.spec"), "--steps", "2") == 0
    out, err = capfd.readouterr()
    rows = [line.split()[-2:] for line in out.splitlines() if re.match(r"dp=\d x cp=\d +\d ", line)]
    assert rows == [["the", "same"]] * 5
    assert "dp=1 x cp=3  not legal: E0406: `S` = 64 does not divide over cp = 3" in out
    assert out.endswith("5 meshes train the same model\n")
    assert "B = 2*2, as on dp=2 x cp=2" in err


def test_each_part_has_its_own_method(capfd: pytest.CaptureFixture[str]) -> None:
    spec = str(ROOT / "specs" / "ring.spec")
    assert verify(spec, "--layout", "mixed", "--set", "mesh.cp=2", "--set", "S=32") == 0
    out, _ = capfd.readouterr()
    assert re.search(r"^dp=2 x cp=2 +4 .* 24 +the same$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("spec", "layout", "meshes"),
    [
        ("fused", "labels", 5),
        ("pieces", "sp", 4),
        ("externs", "units", 3),
        pytest.param("tensor", "ring", 5, marks=pytest.mark.slow),
    ],
)
def test_ranks_exchange_what_the_plan_says(
    spec: str, layout: str, meshes: int, capfd: pytest.CaptureFixture[str]
) -> None:
    path = ROOT / "tests" / "cases" / "parity" / f"{spec}.spec"
    assert verify(str(path), "--layout", layout, "--ranks", "2", "--steps", "2") == 0
    out, _ = capfd.readouterr()
    assert out.endswith(f"{meshes} meshes train the same model\n"), out


def test_a_method_acts_over_all_of_an_axis_with_sub_axes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rules = "cp: shard S via ulysses(heads, repeat_kv = true)\ndp: shard B\ncp: shard params"
    path = tmp_path / "nested.spec"
    path.write_text(spec(rules, "dp = 1, cp = rest { r = 2, u = rest }"))
    assert verify(str(path), "--steps", "2", "--set", "depth=1", "--set", "B=2") == 0
    out, _ = capfd.readouterr()
    assert re.search(r"^dp=1 x r=1 x u=4 +4 .* 10 +the same$", out, re.MULTILINE), out
    assert re.search(r"^dp=1 x r=2 x u=2 +4 .* 10 +the same$", out, re.MULTILINE), out


def test_labels_that_do_not_count_are_counted_on_the_way(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Their number is added up with the loss, which the Plan must say."""
    spec = str(ROOT / "tests" / "cases" / "parity" / "ignored.spec")
    assert verify(spec, "--ranks", "2", "--layout", "params") == 0, capfd.readouterr().out


def test_a_part_that_looks_at_its_rank_is_seen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "verify_parts.py").write_text(PART)
    path = tmp_path / "faulty.spec"
    path.write_text(FAULTY)
    assert verify(str(path), "--ranks", "2") == 4
    out, _ = capfd.readouterr()
    assert re.search(r"^dp=1 +1 .* the same$", out, re.MULTILINE)
    assert re.search(r"^dp=2 +2 .* differs$", out, re.MULTILINE)
    assert "    gradient of out.weight is off by " in out
    assert out.endswith("1 of 2 meshes train something else\n")


GATHERED = Sent("all_gather", "dp", "float32", 8)
ONE = Training(
    digest="d",
    initial={"w": torch.ones(2)},
    gradients={"w": torch.tensor([3.0, 4.0])},
    final={},
    records=((1.0, 5.0),),
    bits="b",
    sent=Counter({GATHERED: 2, Sent("all_reduce", "dp", "float32", 4): 3}),
)
PLANNED = [
    Collective("all_gather", ("dp", "cp"), "fp32", 8, 2, "parameters"),
    Collective("all_reduce", ("dp",), "fp32", 8, 0, "gradients, in buckets"),
    Collective("all_reduce", ("dp", "cp"), "fp32", 4, 1, "the mean loss"),
]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"digest": "e"}, "digest e, not d"),
        ({"initial": {"w": torch.zeros(2)}}, "w starts with other bits"),
        ({"gradients": {"w": torch.tensor([3.0, 4.1])}}, "gradient of w is off by 2.0e-02"),
        ({"gradients": {}}, "gradients of [], not ['w']"),
        ({"records": ((1.1, 5.0),)}, "step 0: loss 1.1, not 1.0"),
        ({"records": ((1.0, float("nan")),)}, "step 0: norm nan, not 5.0"),
        ({"records": ()}, "0 steps, not 1"),
        (
            {"sent": Counter({GATHERED: 3, Sent("all_reduce", "dp", "float32", 12): 1})},
            "all_gather over dp, float32, calls of 8 bytes: 3 in a step, planned 2",
        ),
        (
            {"sent": Counter({GATHERED: 2, Sent("all_reduce", "dp", "float32", 4): 9})},
            "all_reduce over dp, float32, bytes: 36 in a step, planned 12",
        ),
        (
            {"sent": Counter({Sent("all_reduce", "dp", "float32", 12): 1})},
            "all_gather over dp, float32, calls of 8 bytes: 0 in a step, planned 2",
        ),
    ],
)
def test_what_a_mesh_does_otherwise_is_named(changed: dict[str, object], fault: str | None) -> None:
    found = attrs.evolve(ONE, **changed)
    verdict = judge([found, found], ONE, PLANNED, {"dp": 2, "cp": 1})
    assert verdict.faults == (() if fault is None else (fault,))


def test_ranks_that_drift_apart_are_named() -> None:
    other = attrs.evolve(ONE, bits="c")
    verdict = judge([ONE, other], ONE, PLANNED, {"dp": 2, "cp": 1})
    assert verdict.faults == ("rank 1 of 2 has bits of its own",)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["specs/tied.spec", "--target", "musa"], 2, "leave `--target musa` out"),
        (["specs/tied.spec", "--steps", "1"], 2, "`--steps` is 2 or more"),
        (["specs/tied.spec", "--set", "train.steps=1"], 2, "add `--set train.steps=3`"),
        (["specs/longctx.spec"], 3, "try `--profile smoke`"),
        (["specs/tied.spec", "--ranks", "0"], 2, "`0` is no number of ranks"),
    ],
)
def test_what_cannot_be_verified_is_refused_before_anything_starts(
    arguments: list[str],
    code: int,
    message: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    try:
        found = verify(*arguments)
    except SystemExit as exit_:
        found = exit_.code
    assert found == code
    assert message in capfd.readouterr().err
