"""Verbs, usage, exit codes, and whatever stops a verb."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specc import __version__
from specc.cli import check
from specc.cli.verbs import VERBS
from specc.diagnostics import SpeccError
from tests.checking import run_cli
from tests.repository import ROOT


def test_version() -> None:
    assert run_cli(["--version"]) == (0, f"specc {__version__}\n", "")


def test_help_lists_every_verb_on_standard_output() -> None:
    code, out, err = run_cli(["--help"])

    assert (code, err) == (0, "")
    assert all(f"\n  {name} " in out for name in VERBS)


def test_without_a_verb_the_help_is_talk_and_the_code_says_usage() -> None:
    code, out, err = run_cli([])

    assert (code, out) == (2, "")
    assert "usage: specc VERB" in err


def test_a_misspelt_verb_gets_the_near_one() -> None:
    code, out, err = run_cli(["chek", "x.spec"])

    assert (code, out) == (2, "")
    assert err == "error: there is no verb `chek`; did you mean `specc check`?\n"


def test_an_unknown_verb_gets_the_list() -> None:
    code, _, err = run_cli(["zzz"])

    assert code == 2
    assert ", ".join(VERBS) in err


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_a_help(name: str) -> None:
    code, out, err = run_cli([name, "--help"])

    assert (code, err) == (0, "")
    assert out.startswith(f"usage: specc {name} ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--frmat", "json"],
        ["check", "--format", "xml"],
        ["check", "--world", "0"],
        ["check", "--world", "two"],
        ["run", "a.spec", "b.spec"],
        ["build", "--print", "ir"],
        ["init", "zzz"],
        ["check", "--prof", "small"],  # no abbreviations: they break when flags are added
    ],
)
def test_bad_usage_is_2_and_says_the_usage(arguments: list[str]) -> None:
    code, out, err = run_cli(arguments)

    assert (code, out) == (2, "")
    assert err.startswith(f"usage: specc {arguments[0]} ")


def test_a_fault_of_ours_is_70_with_its_traceback(
    sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("in the heart")

    monkeypatch.setattr(check, "run", broken)
    code, out, err = run_cli(["check", "run.spec"])

    assert (code, out) == (70, "")
    assert err.startswith("Traceback (most recent call last):")
    assert err.endswith(f"internal error, please report: specc {__version__}\n")


def test_ctrl_c_is_one_line(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", stopped)

    assert run_cli(["check", "run.spec"]) == (4, "", "stopped by Ctrl-C\n")


def test_what_the_machine_lacks_is_3(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object) -> int:
        raise SpeccError("no such device\nhelp: buy one")

    monkeypatch.setattr(check, "run", lacking)

    assert run_cli(["check", "run.spec"]) == (3, "", "error: no such device\nhelp: buy one\n")


@pytest.mark.parametrize("name", ["check", "build", "run", "emit", "graph"])
def test_a_missing_file_is_usage(name: str, folder: Path) -> None:
    code, out, err = run_cli([name, "missing.spec"])

    assert (code, out) == (2, "")
    assert err == "error: cannot read missing.spec: No such file or directory\n"


@pytest.mark.parametrize("name", ["check", "fmt", "emit"])
def test_a_folder_is_no_file(name: str, folder: Path) -> None:
    (folder / "a.spec").mkdir()
    code, out, err = run_cli([name, "a.spec"])

    assert (code, out) == (2, "")
    assert err == "error: cannot read a.spec: Is a directory\n"


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK is `x`"),
        ({"RANK": "0"}, "WORLD_SIZE is missing"),
        ({"WORLD_SIZE": "-1"}, "RANK is missing"),
    ],
)
def test_a_broken_environment_is_told(
    sound: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, out, err = run_cli(["check", "run.spec"])

    assert (code, out) == (3, "")
    assert err == f"error: {told}: torchrun sets RANK and WORLD_SIZE to numbers; set both or none\n"


def test_a_closed_pipe_ends_quietly(specs: Path) -> None:
    command = f"{sys.executable} -m specc emit longctx.spec --target cpu | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=specs,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('"""longctx: ')
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
