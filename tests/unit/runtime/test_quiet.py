"""Remarks of native libraries are dropped, and nothing else."""

import os
import subprocess
import sys

import pytest

from specc.runtime.quiet import without_chatter

REMARK = b"[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is"


def write_both() -> None:
    print("from Python")
    sys.stdout.flush()
    os.write(1, REMARK + b" : 1\nfrom native code [Gloo] Rank 0\n")
    subprocess.run(["echo", "from a child"], check=True)


@pytest.mark.parametrize("version", ["2.9.1+cu128", "2.10.0"])
def test_the_remarks_of_a_chatty_torch_are_dropped(
    version: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with without_chatter(version):
        write_both()
    print("after")
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == [
        "after",
        "from Python",
        "from a child",
        "from native code [Gloo] Rank 0",
    ]
    assert lines[-1] == "after"


@pytest.mark.parametrize("version", ["", "2.7.1", "2.13.0+cpu"])
def test_other_versions_are_left_alone(version: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with without_chatter(version):
        assert sys.stdout is before
        os.write(1, REMARK)
    assert capfd.readouterr().out == REMARK.decode()


def fail_after_a_line() -> None:
    with without_chatter("2.9.1"):
        print("before")
        raise ValueError("boom")


def test_output_is_whole_again_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="boom"):
        fail_after_a_line()
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "before\nafter\n"
