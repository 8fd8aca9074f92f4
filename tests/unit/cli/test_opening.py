"""Which spec is meant where no file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from specc.cli.opening import find_file, is_run
from specc.diagnostics import SpeccError
from tests.checking import run_cli
from tests.unit.cli.conftest import FAULTY, LIBRARY, SOUND


def test_the_only_run_is_meant(sound: Path) -> None:
    (sound / "lib.spec").write_text(LIBRARY)

    assert find_file(None, "run") == Path("run.spec")


def test_a_named_file_is_taken_as_it_is(folder: Path) -> None:
    assert find_file("nosuch.spec", "run") == Path("nosuch.spec")


def test_a_run_with_faults_is_still_a_run(folder: Path) -> None:
    (folder / "a.spec").write_text(FAULTY)

    assert is_run(Path("a.spec"))


def test_what_is_no_text_is_no_run(folder: Path) -> None:
    (folder / "a.spec").write_bytes(b"\xff\xfe\x00")
    (folder / "b.spec").mkdir()

    assert not is_run(Path("a.spec"))
    assert not is_run(Path("b.spec"))


def test_several_runs_are_listed_with_the_command_to_type(sound: Path) -> None:
    (sound / "other.spec").write_text(SOUND)
    code, out, err = run_cli(["emit"])

    assert (code, out) == (2, "")
    assert err == (
        "error: this folder has 2 specs that train; say which:\n"
        "  specc emit other.spec\n"
        "  specc emit run.spec\n"
    )


def test_runs_below_specs_are_told(folder: Path) -> None:
    (folder / "specs" / "small").mkdir(parents=True)
    (folder / "specs" / "small" / "a.spec").write_text(SOUND)
    (folder / "specs" / "lib.spec").write_text(LIBRARY)
    code, _, err = run_cli(["run"])

    assert code == 2
    assert err == (
        "error: this folder has no spec that trains; below it are:\n"
        "  specc run specs/small/a.spec\n"
    )


def test_an_empty_folder_is_told_how_to_begin(folder: Path) -> None:
    with pytest.raises(SpeccError, match=r"`specc check FILE`, or write one with `specc init`"):
        find_file(None, "check")
