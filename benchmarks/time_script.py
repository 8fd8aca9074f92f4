"""The emitted script against the run: the same text, with its parts copied in or imported.

    python -m benchmarks.time_script

Steps are measured on one rank in one process; commands from start to end, as somebody types them.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from benchmarks.paired import child_cpu_seconds, machine, paired, table
from benchmarks.steps import module_of, spec_of, steps_of, timed_steps

STEPS = 5
SMALL = ("din=256", "hid=512", "dout=128")
TINY = ("d=64", "vocab=512", "S=32", "depth=4")


def time_steps() -> str:
    """Seconds of a step, script and run in turn."""
    found: list[str] = []
    for name, sizes in (("toy_ddp.spec", SMALL), ("tinyllm.spec", TINY)):
        spec = spec_of(name, sizes, 1)
        stem = name.removesuffix(".spec")
        variants = {
            "run": timed_steps(steps_of(module_of(spec.text(), f"run_{stem}")), STEPS),
            "script": timed_steps(steps_of(module_of(spec.script(), f"script_{stem}")), STEPS),
        }
        found.append(table(f"A step of {stem}, one rank", paired(variants), "ms"))
    return "\n".join(found)


def time_commands() -> str:
    """CPU seconds of the two commands, from start to end, for a training of five steps."""
    folder = Path(tempfile.mkdtemp(prefix="specc_bench_"))
    settings = ["--set", "train.steps=5"]
    for size in SMALL:
        settings += ["--set", size]
    spec = str(Path("specs", "toy_ddp.spec").absolute())
    script = str(folder / "toy_ddp.py")
    specc = [sys.executable, "-m", "specc"]
    same = [spec, "--target", "cpu", "--ranks", "1", *settings]
    child_cpu_seconds([*specc, "emit", *same, "-o", script])
    variants = {
        "specc run": partial(child_cpu_seconds, [*specc, "run", *same, "--quiet"]),
        "python script": partial(child_cpu_seconds, [sys.executable, script]),
    }
    return table("A whole command, CPU time", paired(variants))


def main() -> int:
    """Measure and print."""
    store = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]  documented
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    print(time_steps())
    dist.destroy_process_group()
    print(time_commands(), machine(torch=torch.__version__), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
