"""A folder with specs, in which the command line is called."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.repository import ROOT

FAULTY = """\
specc 1
dim d = 8
dim B = 4*dp
model M(x: [B, d]) -> y: [B, d] {
  net: Linear(d -> d)
  return nett(x)
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
SOUND = FAULTY.replace("nett", "net")
LIBRARY = """\
specc 1
block MLP[B, d](x: [B, d]) -> [B, d] {
  net: Linear(d -> d)
  return net(x)
}
"""
CARELESS = SOUND.replace("steps     = 2", "steps = 2K")  # a warning


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test, empty."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sound(folder: Path) -> Path:
    """A folder with one run, `run.spec`."""
    (folder / "run.spec").write_text(SOUND)
    return folder


@pytest.fixture
def specs(folder: Path) -> Path:
    """A folder with the lesson's specs."""
    for name in ("toy_ddp.spec", "tinyllm.spec", "longctx.spec"):
        shutil.copy(ROOT / "specs" / name, folder)
    for name in ("lib", "clusters"):
        shutil.copytree(ROOT / "specs" / name, folder / name)
    return folder
