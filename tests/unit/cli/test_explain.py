"""`specc explain`: codes, and values with their origins."""

from __future__ import annotations

from pathlib import Path

from specc.diagnostics.page import codes
from tests.checking import run_cli


def rows(out: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split(maxsplit=1)[1].split("  ") for line in out.splitlines()}


def test_a_code_is_explained() -> None:
    code, out, err = run_cli(["explain", "E0204"])

    assert (code, err) == (0, "")
    assert out.startswith("# E0204: ")
    assert out.endswith("```\n")


def test_without_a_code_all_are_listed() -> None:
    code, out, err = run_cli(["explain"])

    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(codes())


def test_an_unknown_code_is_usage() -> None:
    code, out, err = run_cli(["explain", "E9999"])

    assert (code, out) == (2, "")
    assert err.startswith("error: there is no code `E9999`")


def test_two_codes_are_too_many() -> None:
    assert run_cli(["explain", "E0204", "E0205"])[0] == 2


def test_every_value_has_its_origin(specs: Path) -> None:
    flags = ["--profile", "laptop", "--set", "d=128", "--target", "cpu"]
    code, out, err = run_cli(["explain", "--values", "tinyllm.spec", *flags])
    found = rows(out)

    assert (code, err) == (0, "")
    assert found["d"][0] == "128"
    assert found["d"][-1].strip() == "--set d=128"
    assert found["ff"][0] == "4*d = 512"
    assert found["ff"][-1].strip().startswith("tinyllm.spec:")
    assert found["S"][-1].strip().startswith("profile laptop, tinyllm.spec:")
    assert found["mesh.dp"][0] == "world = 2"
    assert found["train.seed"] == ["0", *found["train.seed"][1:]]
    assert found["train.seed"][-1].strip() == "default"


def test_one_value_alone(sound: Path) -> None:
    code, out, _ = run_cli(["explain", "--values", "train.steps"])

    assert (code, out) == (0, "train.steps  2  run.spec:14\n")


def test_a_block_of_values(sound: Path) -> None:
    _, out, _ = run_cli(["explain", "--values", "run.spec", "train.log"])

    assert sorted(rows(out)) == ["train.log.every", "train.log.warmup"]


def test_an_unknown_path_gets_the_near_one(sound: Path) -> None:
    code, out, err = run_cli(["explain", "--values", "run.spec", "train.stpes"])

    assert (code, out) == (2, "")
    assert err == (
        "error: the spec has no `train.stpes` that can be set; did you mean `train.steps`?\n"
    )
