"""`specc check`: channels, forms, situations, fixes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checking import run_cli
from tests.unit.cli.conftest import CARELESS, FAULTY, LIBRARY, SOUND


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.spec").write_text(text)


def test_a_clean_spec_is_said_to_be_clean(sound: Path) -> None:
    assert run_cli(["check"]) == (0, "", "run.spec: clean on cpu, with 2 and 4 ranks\n")


def test_a_stated_world_is_the_one_that_is_checked(sound: Path) -> None:
    code, _, err = run_cli(["check", "--world", "6", "--target", "cpu"])

    assert (code, err) == (0, "run.spec: clean on cpu, with 6 ranks\n")


def test_a_library_can_be_checked(folder: Path) -> None:
    write(folder, lib=LIBRARY)
    code, _, err = run_cli(["check", "lib.spec"])

    assert (code, err) == (0, "lib.spec: clean (a library: no model or no train)\n")


def test_findings_as_text_go_to_standard_error(folder: Path) -> None:
    write(folder, bad=FAULTY)
    code, out, err = run_cli(["check", "bad.spec"])

    assert (code, out) == (1, "")
    assert err.startswith("error[E0204]: ")
    assert "\n --> bad.spec:6:10\n" in err
    assert err.endswith("\n\n1 error\n")


def test_findings_as_json_are_the_only_output(folder: Path) -> None:
    write(folder, bad=FAULTY, careless=CARELESS)
    code, out, err = run_cli(["check", "bad.spec", "careless.spec", "--format", "json"])
    found = [json.loads(line) for line in out.splitlines()]

    assert (code, err) == (1, "")
    assert [(f["file"], f["severity"]) for f in found] == [
        ("bad.spec", "error"),
        ("careless.spec", "warning"),
    ]


def test_nothing_is_printed_as_json_where_nothing_is_found(sound: Path) -> None:
    assert run_cli(["check", "--format", "json"]) == (0, "", "")


def test_findings_as_annotations_are_the_only_output(folder: Path) -> None:
    write(folder, bad=FAULTY)
    code, out, err = run_cli(["check", "bad.spec", "--format", "github"])

    assert (code, err) == (1, "")
    assert out.startswith("::error file=bad.spec,line=6,")


def test_warnings_count_where_they_are_denied(folder: Path) -> None:
    write(folder, careless=CARELESS)

    code, _, err = run_cli(["check", "careless.spec", "--target", "cpu"])

    assert code == 0
    assert err.endswith("\n1 warning\ncareless.spec: checked on cpu, with 2 and 4 ranks\n")
    assert run_cli(["check", "careless.spec", "--deny", "warnings"])[0] == 1


def test_a_finding_of_one_profile_carries_its_name(folder: Path) -> None:
    write(folder, run=f"{SOUND}profile odd {{ train.steps = 0 }}\n")
    code, _, err = run_cli(["check", "run.spec"])

    assert code == 1
    assert "profile odd: " in err.splitlines()[0]


def test_a_shared_file_is_reported_once(folder: Path) -> None:
    write(folder, lib=LIBRARY.replace("return net", "return nett"))
    using = 'specc 1\nfrom "lib.spec" use MLP\n' + SOUND.removeprefix("specc 1\n")
    using = using.replace("net: Linear(d -> d)", "net: MLP")
    write(folder, a=using, b=using)
    _, out, _ = run_cli(["check", "a.spec", "b.spec", "--format", "json"])

    assert [json.loads(line)["file"] for line in out.splitlines()] == ["lib.spec"]


# ---------------------------------------------------------------------------- what is asked for


@pytest.mark.parametrize(
    ("flags", "title"),
    [
        (["--target", "cdua"], "unknown target `cdua`"),
        (["--profile", "smal"], "the spec has no profile `smal`"),
        (["--layout", "long"], "the spec has no layout `long`"),
        (["--set", "mesh.pd=4"], "--set mesh.pd=4: the spec has no `mesh.pd` that can be set"),
        (["--set", "d=3*"], "expected a value, found end of line"),
    ],
)
def test_what_does_not_exist_is_a_finding(sound: Path, flags: list[str], title: str) -> None:
    code, out, err = run_cli(["check", "--format", "json", *flags])

    assert (code, err) == (1, "")
    assert title in [json.loads(line)["title"] for line in out.splitlines()]


def test_the_argument_is_shown_with_a_caret(sound: Path) -> None:
    _, _, err = run_cli(["check", "--set", "train.stpes=4"])

    assert " --> <command line>\n" in err
    assert "  | train.stpes=4\n  | ^^^^^^^^^^^^^" in err
    assert "did you mean `train.steps`?" in err


def test_nobody_is_sent_to_fix_the_command_line(sound: Path) -> None:
    _, _, err = run_cli(["check", "--set", "d: 4"])

    assert err.endswith("\n\n1 error\n")


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("mesh.dp", "`--set mesh.dp` gives no value: write `--set mesh.dp=VALUE`"),
        ("", "`--set ` gives no value: write `--set PATH=VALUE`"),
    ],
)
def test_an_argument_without_a_value_is_usage(sound: Path, argument: str, told: str) -> None:
    assert run_cli(["check", "--set", argument]) == (2, "", f"error: {told}\n")


def test_an_override_holds(sound: Path) -> None:
    _, _, err = run_cli(["check", "--set", "mesh.dp=3, d=16", "--target", "cpu"])

    assert err == "run.spec: clean on cpu, with 3 ranks\n"


# ------------------------------------------------------------------------------------------- fix


def test_sure_fixes_are_applied_until_nothing_is_left(folder: Path) -> None:
    write(folder, run=SOUND.replace("loss      =", "loss :").replace("mesh {", "mesh ｛"))
    code, out, err = run_cli(["check", "--fix", "run.spec"])

    assert (code, out) == (0, ""), err
    assert err == "put 2 findings right\nrun.spec: clean on cpu, with 2 and 4 ranks\n"
    assert "  loss  = mean(y)\n" in (folder / "run.spec").read_text()
    assert "｛" not in (folder / "run.spec").read_text()


def test_what_is_not_sure_stays(folder: Path) -> None:
    write(folder, bad=FAULTY)
    code, _, err = run_cli(["check", "--fix", "bad.spec"])

    assert code == 1
    assert "right" not in err
    assert (folder / "bad.spec").read_text() == FAULTY
