"""`scripts/search`: random specs on random meshes, of seeds that stay the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specc.runtime.pool import Pool
from tests.search.__main__ import parser, search

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

FIRST, COUNT = 45, 2


def run(pool: Pool, folder: Path, *arguments: str) -> int:
    args = ["--folder", str(folder), "--ranks", "4", "--meshes", "1", *arguments]
    return search(parser().parse_args(args), pool)


def test_a_few_specs_train_alike(
    pool: Pool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(pool, tmp_path, "--seed", f"{FIRST}", "--count", f"{COUNT}") == 0, (
        capsys.readouterr()
    )
    out, _ = capsys.readouterr()
    assert out.startswith(f"seed {FIRST}\n")
    counts = rf"^{COUNT} specs, (\d) of them legal, trained on (\d) meshes; refused: .*; 0 fail$"
    found = re.search(counts, out, re.MULTILINE)
    assert found is not None, out
    assert int(found[1]) >= 1
    assert int(found[2]) >= 1


def test_a_spec_that_fails_is_kept(
    pool: Pool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise ValueError("a fault of ours")

    monkeypatch.setattr("tests.search.trial.print_text", broken)
    assert run(pool, tmp_path, "--seed", f"{FIRST}", "--count", "1") == 1
    out, _ = capsys.readouterr()
    assert "ValueError: a fault of ours" in out
    assert f"again: --seed {FIRST} --count 1" in out
    assert [path.name for path in tmp_path.iterdir()] == [f"seed_{FIRST}.spec"]
