"""Jobs that execute a training to its end, as text or as a script, and keep what it left behind."""

import contextlib
import hashlib
import json
import os
import runpy
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.optim.optimizer import register_optimizer_step_post_hook

from specc.runtime.environment import variables
from specc.runtime.execute import train_text

Left = tuple[list[dict[str, Any]], list[str]]


def run_text(text: str, name: str, folder: str, path: str) -> Left:
    """Execute a text as `specc run` does."""

    def run() -> None:
        code = train_text(text, name, bar=False)
        assert code == 0, f"exit code {code}"

    return left_by(run, folder, path)


def run_script(script: str, folder: str, path: str) -> Left:
    """Execute a script as Python does."""
    file = Path(folder, f"rank{os.environ['RANK']}.py")
    file.write_text(script, encoding="utf-8")
    return left_by(lambda: runpy.run_path(str(file), run_name="__main__"), folder, path)


def left_by(run: Callable[[], Any], folder: str, path: str) -> Left:
    """The records of a training, without times, and a hash of its weights after each step.

    Args:
        folder: where it writes.
        path: folder of the modules that it imports.
    """
    hashes: list[str] = []

    def note(optimizer: torch.optim.Optimizer, *_: object) -> None:
        total = hashlib.sha256()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                held = parameter.to_local() if isinstance(parameter, DTensor) else parameter
                total.update(held.detach().numpy().tobytes())
        hashes.append(total.hexdigest())

    metrics = Path(folder, "metrics.jsonl")
    hook = register_optimizer_step_post_hook(note)
    try:
        # Compilation takes minutes here and is the same for a text and its script.
        with (
            working_in(folder, path),
            variables({"METRICS": str(metrics)}),
            torch.compiler.set_stance("force_eager"),
        ):
            run()
    finally:
        hook.remove()
    lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
    rows = [json.loads(line) for line in lines]
    for row in rows:
        del row["step_s"]
    return rows, hashes


@contextlib.contextmanager
def working_in(folder: str, path: str) -> Generator[None, None, None]:
    """Work in a folder, with the modules of another one."""
    before = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
        os.chdir(before)
