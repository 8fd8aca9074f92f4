"""`specc build --print`: the stages of a spec as text."""

from __future__ import annotations

from pathlib import Path

from tests.checking import run_cli
from tests.unit.cli.conftest import LIBRARY


def printed(*arguments: str) -> str:
    code, out, err = run_cli(["build", *arguments])
    assert code == 0, err
    return out


def test_a_tree_has_a_line_for_each_node_with_its_place(sound: Path) -> None:
    lines = printed("--print", "tree").splitlines()

    assert lines[0] == "File run.spec"
    assert "  DimDecl name='d'  2:5" in lines
    assert "    size: Number value=8 unit='' text='8'  2:9" in lines
    assert "    body: Bind name='net'  5:3" in lines


def test_a_program_has_types_and_no_numbers_of_a_world(sound: Path) -> None:
    lines = printed("--print", "program").splitlines()

    assert "dim B = 4*dp" in lines
    assert "model M(x: [B, d]) -> y: [B, d]  run.spec:4" in lines
    assert "  return net(x) : [B, d]" in lines


def test_a_library_has_a_tree_and_a_program(folder: Path) -> None:
    (folder / "lib.spec").write_text(LIBRARY)

    assert "Block name='MLP'" in printed("lib.spec", "--print", "tree")
    assert "block MLP(x: [B, d]) -> [B, d]" in printed("lib.spec", "--print", "program")
    assert run_cli(["build", "lib.spec", "--print", "plan"])[0] == 2


def test_a_plan_says_what_lies_where(specs: Path) -> None:
    lines = printed("longctx.spec", "--print", "plan").splitlines()
    words = {line.split()[0]: line for line in lines if line.strip()}

    assert lines[0].startswith("longctx.spec  target musa  world 16  layout default  plan ")
    assert words["mesh"].endswith("dp=4 x cp=4 on s4000x16")
    assert words["parameters"].endswith("8,030,261,248 in 291 tensors")
    assert "weights 1.87 GiB" in words["memory"]
    assert "ids, labels: i64[B/dp, S/cp] = [1, 16384]" in words["data"]
    assert "32 x Block: 218,112,000 parameters, gathered as bf16 416 MiB" in words["units"]
    assert words["blocks.*.attn.wq.weight"].split()[1:4] == ["x", "32", "[(heads*hd)/(dp*cp),"]
    assert " ".join(words["blocks.*.attn.wq.weight"].split()).endswith(
        "[4096, 4096] [256, 4096] bf16"
    )


def test_a_plan_follows_the_world(sound: Path) -> None:
    assert "dp=8  (any world that fits)" in printed("--print", "plan", "--world", "8")


def test_a_stage_can_be_written(sound: Path) -> None:
    text = printed("--print", "plan")

    assert printed("--print", "plan", "-o", "plan.txt") == ""
    assert (sound / "plan.txt").read_text() == text


def test_the_script_is_that_of_emit(sound: Path) -> None:
    assert (
        printed("--print", "script", "--target", "cpu") == run_cli(["emit", "--target", "cpu"])[1]
    )


def test_fake_and_real_ranks_exclude_each_other(sound: Path) -> None:
    code, out, err = run_cli(["build", "--world", "4", "--ranks", "4"])

    assert (code, out) == (2, "")
    assert err.startswith("error: `--world` builds among fake ranks")
