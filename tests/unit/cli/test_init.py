"""`specc init`: specs to start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from specc.cli.init import KINDS
from tests.checking import run_cli


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_clean_formatted_and_can_be_emitted(folder: Path, kind: str) -> None:
    name = f"{kind}.spec"
    code, out, err = run_cli(["init", kind])

    assert (code, out) == (0, "")
    assert err == (
        f"wrote {name}: try `specc check {name}`, then `specc run {name} --profile small`\n"
    )
    assert run_cli(["check", name, "--deny", "warnings", "--target", "cpu"])[0] == 0
    assert run_cli(["fmt", "--check", name]) == (0, "", "")
    for target in ("cpu", "cuda", "musa"):
        assert run_cli(["emit", name, "--target", target])[0] == 0


def test_the_default_is_a_language_model(folder: Path) -> None:
    assert run_cli(["init"])[0] == 0
    assert "model Bytes" in (folder / "fsdp.spec").read_text()


def test_nothing_is_overwritten(folder: Path) -> None:
    (folder / "ddp.spec").write_text("mine")
    code, out, err = run_cli(["init", "ddp"])

    assert (code, out) == (2, "")
    assert err == ("error: ddp.spec exists and stays as it is: `specc init ddp -o OTHER.spec`\n")
    assert (folder / "ddp.spec").read_text() == "mine"


def test_another_name_in_a_new_folder(folder: Path) -> None:
    assert run_cli(["init", "ddp", "-o", "new/my.spec"])[0] == 0
    assert (folder / "new" / "my.spec").read_text().startswith("specc 1\n")
