"""Whether emitted scripts pass ruff, as scripts of people do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.repository import ROOT

CONFIG = ROOT / "tests" / "cases" / "ruff.toml"
LINES = 12  # of what ruff says of one script


def complaints(scripts: Mapping[str, str]) -> dict[str, str]:
    """What ruff says, by the name of the script; nothing of those that are clean."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.py" for name in scripts}
        for name, path in paths.items():
            path.write_text(scripts[name], encoding="utf-8")
        if _clean(folder):
            return {}
        for name, path in paths.items():
            said = "".join(_said(path))
            if said:
                found[name] = "\n".join(said.splitlines()[:LINES])
    return found


def _clean(folder: str) -> bool:
    return not any(_said(Path(folder)))


def _said(path: Path) -> list[str]:
    """Standard output of `ruff check` and `ruff format` where they are not content."""
    commands = (("check", "--output-format", "concise"), ("format", "--diff"))
    done = [
        subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--config", str(CONFIG), str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        for command in commands
    ]
    return [each.stdout + each.stderr for each in done if each.returncode]
