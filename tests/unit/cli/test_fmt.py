"""`specc fmt`: in place, checked, as a diff, through standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.checking import run_cli

LOOSE = "specc 1\ndim   d=8 ,B = 4\n\n\n\n"
TIGHT = "specc 1\ndim d = 8, B = 4\n"


class Input(io.TextIOWrapper):
    """Standard input that holds bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")


def test_a_file_is_formatted_in_place(folder: Path) -> None:
    (folder / "a.spec").write_text(LOOSE)

    assert run_cli(["fmt", "a.spec"]) == (0, "", "formatted a.spec\n")
    assert (folder / "a.spec").read_text() == TIGHT
    assert run_cli(["fmt", "a.spec"]) == (0, "", "")


def test_line_ends_and_the_mark_stay(folder: Path) -> None:
    (folder / "a.spec").write_bytes(b"\xef\xbb\xbf" + LOOSE.replace("\n", "\r\n").encode())
    run_cli(["fmt", "a.spec"])

    assert (folder / "a.spec").read_bytes() == b"\xef\xbb\xbf" + TIGHT.replace(
        "\n", "\r\n"
    ).encode()


def test_check_writes_nothing_and_says_what_would_change(folder: Path) -> None:
    (folder / "a.spec").write_text(LOOSE)
    (folder / "b.spec").write_text(TIGHT)

    assert run_cli(["fmt", "--check", "a.spec", "b.spec"]) == (1, "", "would format a.spec\n")
    assert run_cli(["fmt", "--check", "b.spec"]) == (0, "", "")
    assert (folder / "a.spec").read_text() == LOOSE


def test_a_diff_is_the_product(folder: Path) -> None:
    (folder / "a.spec").write_text(LOOSE)
    code, out, err = run_cli(["fmt", "--diff", "a.spec"])

    assert (code, err) == (1, "would format a.spec\n")
    assert out.startswith("--- a.spec\n+++ a.spec\n@@ ")
    assert "\n-dim   d=8 ,B = 4\n" in out
    assert "\n+dim d = 8, B = 4\n" in out
    assert (folder / "a.spec").read_text() == LOOSE


def test_standard_input_goes_to_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Input(LOOSE.encode()))

    assert run_cli(["fmt", "-"]) == (0, TIGHT, "")


def test_standard_input_can_be_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input(LOOSE.encode()))

    assert run_cli(["fmt", "--check", "-"]) == (1, "", "would format <stdin>\n")


def test_what_is_no_text_is_a_finding(folder: Path) -> None:
    (folder / "a.spec").write_bytes(b"specc 1\n\xff\n")
    code, out, err = run_cli(["fmt", "a.spec"])

    assert (code, out) == (1, "")
    assert err.startswith("error[E0113]: this file is not UTF-8")
    assert (folder / "a.spec").read_bytes() == b"specc 1\n\xff\n"


def test_a_missing_file_leaves_the_others_alone(folder: Path) -> None:
    (folder / "a.spec").write_text(LOOSE)
    code, _, err = run_cli(["fmt", "a.spec", "b.spec"])

    assert (code, err) == (2, "error: cannot read b.spec: No such file or directory\n")
    assert (folder / "a.spec").read_text() == LOOSE
