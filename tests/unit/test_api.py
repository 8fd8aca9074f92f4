"""The Python API without torch: loading, findings, facts, texts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import specc
from tests.repository import ROOT

SPEC = """\
specc 1
dim d = 8
dim B = 4*dp
model M(x: [B, d]) -> y: [B, d] {
  net: Linear(d -> d)
  return net(x)
}
mesh { dp = world }
layout { dp: shard B }
train {
  data { x = randn }
  loss      = mean(y)
  optimizer = SGD(lr = 0.1)
  steps     = 2
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.spec"
    path.write_text(SPEC)
    return path


def test_a_spec_knows_its_facts(path: Path) -> None:
    spec = specc.load(path, target="cpu", world=4, overrides=["d=16"])
    facts = spec.facts()

    assert spec.diagnostics == ()
    assert facts.sizes == {"d": 16, "B": 16}
    assert facts.mesh.world == 4
    assert [p.name for p in facts.parameters] == ["net.weight", "net.bias"]


def test_the_script_and_the_text_are_the_same_training(path: Path) -> None:
    spec = specc.load(path, target="cpu")
    texts = [ast.parse(text) for text in (spec.script(), spec.text())]
    mains = [
        next(ast.dump(n) for n in t.body if isinstance(n, ast.FunctionDef) and n.name == "main")
        for t in texts
    ]

    assert mains[0] == mains[1]
    assert "specc.parts" in spec.text()
    assert "import specc" not in spec.script()


def test_errors_are_an_exception_that_shows_them(path: Path) -> None:
    path.write_text(SPEC.replace("net(x)", "nett(x)"))
    with pytest.raises(specc.InvalidSpecError, match=r"error\[E0204\]: .*`nett`") as caught:
        specc.load(path)

    assert [finding.code for finding in caught.value.diagnostics] == ["E0204"]
    assert "return nett(x)" in str(caught.value)


def test_warnings_are_kept(path: Path) -> None:
    path.write_text(SPEC.replace("steps     = 2", "steps = 2K"))

    assert [finding.severity for finding in specc.load(path).diagnostics] == ["warning"]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(specc.SpeccError, match=r"cannot read .*: No such file or directory"):
        specc.load(tmp_path / "no.spec")


def test_an_unknown_target_is_an_error(path: Path) -> None:
    with pytest.raises(specc.InvalidSpecError, match="unknown target `cdua`"):
        specc.load(path, target="cdua")


def test_a_library_has_findings_and_no_facts(tmp_path: Path) -> None:
    path = tmp_path / "lib.spec"
    path.write_text("specc 1\nblock A[B, d](x: [B, d]) -> [B, d] { return x }\n")
    spec = specc.load(path)

    assert spec.diagnostics == ()
    with pytest.raises(specc.SpeccError, match="is no run"):
        spec.facts()


def test_the_order_of_choosing_a_target(path: Path) -> None:
    cluster = "cluster box { device = cuda, nodes = 1, gpus = 2 }\n"
    path.write_text(SPEC.replace("mesh {", f"{cluster}mesh on box {{"))
    asked = specc.load(path, target="musa").situation
    chosen = specc.load(path).situation
    level = specc.load(path, overrides=["cluster.device=musa"]).situation

    assert asked is not None
    assert chosen is not None
    assert level is not None
    assert (asked.target, asked.why_target) == ("musa", "--target")
    assert (chosen.target, chosen.why_target) == ("cuda", "the device of cluster box")
    assert level.target == "musa"


def test_another_world_brings_its_own_findings(path: Path) -> None:
    path.write_text(SPEC.replace("dim B = 4*dp", "dim B = 8"))
    spec = specc.load(path, target="cpu")

    assert [finding.code for finding in spec.in_world(3).diagnostics] == ["E0406"]
    assert spec.in_world(3).in_world(4).diagnostics == ()


def test_findings_cover_every_situation_of_the_file(path: Path) -> None:
    path.write_text(f"{SPEC}profile odd {{ B = 3 }}\n")
    spec = specc.load(path, target="cpu")

    assert [finding.situation for finding in spec.findings()] == ["profile odd"]


def test_public_names_exist() -> None:
    assert all(hasattr(specc, name) for name in specc.__all__)
    with pytest.raises(AttributeError, match=r"`specc` has no attribute `nothing`"):
        _ = specc.nothing


def test_the_lesson_loads() -> None:
    spec = specc.load(ROOT / "specs" / "longctx.spec")

    assert spec.facts().target.name == "musa"
    assert spec.checked.worlds() == (16,)
