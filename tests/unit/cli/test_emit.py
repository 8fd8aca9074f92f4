"""`specc emit`: the script, its staleness, its job file."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.checking import run_cli
from tests.unit.cli.conftest import FAULTY, LIBRARY


def test_the_script_is_the_only_output(sound: Path) -> None:
    code, out, err = run_cli(["emit", "--target", "cuda"])
    tree = ast.parse(out)

    assert (code, err) == (0, "target cuda: as asked\n")
    assert {"build", "train", "main"} <= {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    assert "specc" not in {
        name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    }


def test_the_same_bytes_come_out_every_time(sound: Path) -> None:
    assert run_cli(["emit", "--target", "cpu"]) == run_cli(["emit", "--target", "cpu"])


def test_the_device_of_the_cluster_is_the_target(specs: Path) -> None:
    code, out, err = run_cli(["emit", "longctx.spec"])

    assert code == 0
    assert "import torch_musa" in out
    assert err.endswith("target musa: the device of cluster s4000x16\n")


def test_a_file_can_be_written(sound: Path) -> None:
    _, script, _ = run_cli(["emit", "--target", "cpu"])
    code, out, _ = run_cli(["emit", "--target", "cpu", "-o", "scripts/run.py"])

    assert (code, out) == (0, "")
    assert (sound / "scripts" / "run.py").read_text() == script


def test_a_file_that_cannot_be_written_is_told(sound: Path) -> None:
    (sound / "out").write_text("")
    code, out, err = run_cli(["emit", "-o", "out/run.py"])

    assert (code, out) == (2, "")
    assert "error: cannot write out/run.py: " in err


def test_errors_are_told_and_nothing_is_printed(folder: Path) -> None:
    (folder / "bad.spec").write_text(FAULTY)
    code, out, err = run_cli(["emit", "bad.spec"])

    assert (code, out) == (1, "")
    assert err.startswith("error[E0204]")


def test_findings_keep_their_form_beside_a_product(folder: Path) -> None:
    (folder / "bad.spec").write_text(FAULTY)
    code, out, err = run_cli(["emit", "bad.spec", "--format", "json"])

    assert (code, out) == (1, "")
    assert err.startswith('{"code": "E0204"')


def test_a_library_has_no_script(folder: Path) -> None:
    (folder / "lib.spec").write_text(LIBRARY)
    code, out, err = run_cli(["emit", "lib.spec"])

    assert (code, out) == (2, "")
    assert err == "error: lib.spec is no run: it has no `model` or no `train`\n"


# ------------------------------------------------------------------------------------- staleness


def test_a_fresh_script_is_fresh(sound: Path) -> None:
    run_cli(["emit", "--target", "cpu", "-o", "run.py"])
    code, out, err = run_cli(["emit", "--target", "cpu", "--check", "run.py"])

    assert (code, out) == (0, "")
    assert err.endswith("run.py is what run.spec gives\n")


def test_a_stale_script_is_told_with_the_way_out(sound: Path) -> None:
    run_cli(["emit", "--target", "cpu", "-o", "run.py"])
    text = (sound / "run.spec").read_text()
    (sound / "run.spec").write_text(text.replace("steps     = 2", "steps     = 3"))
    code, out, err = run_cli(["emit", "--target", "cpu", "--check", "run.py"])

    assert (code, out) == (1, "")
    assert "run.py is stale: it differs from line " in err
    assert err.endswith("`specc emit run.spec -o run.py` writes it anew\n")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_what_is_no_script_cannot_be_compared(sound: Path, content: bytes | None) -> None:
    if content is not None:
        (sound / "run.py").write_bytes(content)
    code, out, err = run_cli(["emit", "--check", "run.py"])

    assert (code, out) == (2, "")
    assert "run.py" in err.splitlines()[-1]


# ----------------------------------------------------------------------------------------- slurm


def test_a_job_file_starts_a_launcher_on_each_node(specs: Path) -> None:
    code, out, _ = run_cli(["emit", "longctx.spec", "--launcher", "slurm"])
    checked = subprocess.run(["bash", "-n"], input=out, text=True, check=False)

    assert (code, checked.returncode) == (0, 0)
    assert "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n" in out
    assert '--nnodes=2 --node-rank="$SLURM_NODEID" --nproc-per-node=8' in out
    assert out.endswith('--master-port=29500 "$0"\' longctx.py\n')


def test_a_job_without_a_cluster_takes_one_node(sound: Path) -> None:
    flags = ["--launcher", "slurm", "--target", "cpu", "--world", "4"]
    code, out, _ = run_cli(["emit", *flags])

    assert code == 0
    assert "#SBATCH --nodes=1\n" in out
    assert "gpus" not in out
    assert "--nproc-per-node=4" in out


def test_names_are_quoted_for_the_shell(folder: Path, sound: Path) -> None:
    name = "a b;$(touch x).spec"
    (sound / "run.spec").rename(sound / name)
    code, out, _ = run_cli(["emit", name, "--launcher", "slurm", "--target", "cpu"])
    path = "SLURM_JOB_NODELIST=x PATH="
    subprocess.run(["bash", "-c", path + "\n" + out], capture_output=True, check=False)

    assert code == 0
    assert "'a b;$(touch x).py'" in out
    assert not (sound / "x").exists()


def test_ranks_that_do_not_fill_their_nodes_are_refused(specs: Path) -> None:
    flags = ["--launcher", "slurm", "--set", "mesh.dp=3", "--world", "12"]
    code, out, err = run_cli(["emit", "longctx.spec", *flags])

    assert (code, out) == (2, "")
    assert err.endswith(
        "error: 12 ranks do not fill nodes of 8 devices: give a multiple as --world\n"
    )
