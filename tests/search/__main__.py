"""The random search: any spec on any of its meshes trains what one rank trains.

`python -m tests.search --seed N --count 1` repeats one spec.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import SystemRandom

import attrs

from specc.runtime.pool import Pool
from tests.search.specs import draw_spec
from tests.search.style import complaints
from tests.search.trial import Trial, try_spec

MOST = 4  # meshes of one spec that are trained, one rank apart
BATCH = 25  # specs whose scripts ruff reads together
SHOWN = 8  # faults of one spec


@attrs.define
class Search:
    """What has been tried so far.

    Args:
        folder: where specs are written that fail.
        failed: seeds of those.
    """

    folder: Path
    specs: int = 0
    accepted: int = 0
    meshes: int = 0
    refused: Counter[str] = attrs.field(factory=Counter)
    failed: list[int] = attrs.field(factory=list)
    scripts: dict[str, str] = attrs.field(factory=dict)

    def add(self, seed: int, text: str, trial: Trial, seconds: float) -> None:
        """One spec, with a line about it."""
        self.specs += 1
        self.accepted += bool(trial.legal)
        self.meshes += trial.tried
        self.refused += trial.refused
        self.scripts |= trial.scripts
        meshes = f"{trial.tried} of {trial.legal} meshes"
        print(f"{seed}  {trial.axes:<16} {meshes:<16} {seconds:5.1f} s  {trial.verdict}")
        if trial.faults:
            self.fail(seed, text, trial.faults)

    def fail(self, seed: int, text: str, faults: list[str]) -> None:
        """Show faults, and write the spec to a file."""
        if seed not in self.failed:
            self.failed.append(seed)
        path = self.folder / f"seed_{seed}.spec"
        path.write_text(text, encoding="utf-8")
        for fault in faults[:SHOWN]:
            print("    " + fault.replace("\n", "\n    "))
        if len(faults) > SHOWN:
            print(f"    and {len(faults) - SHOWN} more")
        print(f"    {path}; again: --seed {seed} --count 1", flush=True)

    def read_scripts(self) -> None:
        """Let ruff read what has been emitted since the last time."""
        said: dict[int, list[str]] = {}
        for name, lines in complaints(self.scripts).items():
            said.setdefault(int(name.split("_")[1]), []).append(f"ruff on {name}: {lines}")
        for seed, faults in said.items():
            self.fail(seed, draw_spec(seed), faults[:1])  # scripts of one spec are much alike
        self.scripts = {}

    def summary(self) -> str:
        """Counts of all that was tried."""
        codes = ", ".join(f"{code} {count}" for code, count in self.refused.most_common())
        return (
            f"{self.specs} specs, {self.accepted} of them legal, trained on {self.meshes} meshes;"
            f" refused: {codes or 'none'}; {len(self.failed)} fail"
        )


def main(arguments: list[str]) -> int:
    """1 when a spec fails."""
    args = parser().parse_args(arguments)
    with Pool("gloo") as pool:
        return search(args, pool)


def search(args: argparse.Namespace, pool: Pool) -> int:
    """Try specs of one seed after the other until there are enough, or the time is over."""
    seed = SystemRandom().randrange(10**6) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    folder = args.folder or Path(tempfile.mkdtemp(prefix="specc_search_"))
    folder.mkdir(parents=True, exist_ok=True)
    found = Search(folder)
    start = time.perf_counter()
    while found.specs < args.count and time.perf_counter() - start < 60 * args.minutes:
        text = draw_spec(seed)
        if args.axis is None or re.search(rf"\b{args.axis}: ", text):
            _try(found, seed, text, args, pool)
        seed += 1
    found.read_scripts()
    print(found.summary())
    return 1 if found.failed else 0


def _try(found: Search, seed: int, text: str, args: argparse.Namespace, pool: Pool) -> None:
    path = found.folder / f"try_{seed}.spec"
    path.write_text(text, encoding="utf-8")
    before = time.perf_counter()
    trial = try_spec(path, seed, args.ranks, args.meshes, pool)
    path.unlink()
    found.add(seed, text, trial, time.perf_counter() - before)
    sys.stdout.flush()
    if found.specs % BATCH == 0:
        found.read_scripts()


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="scripts/search",
        description="Trains random specs on random legal meshes, and compares with one rank.",
    )
    made.add_argument("--seed", type=int, help="of the first spec; the next one has the next")
    made.add_argument("--count", type=int, default=sys.maxsize, help="specs (as many as fit)")
    made.add_argument("--minutes", type=float, default=10, help="after which none starts (10)")
    made.add_argument("--ranks", type=int, default=8, help="of the largest mesh (8)")
    made.add_argument("--meshes", type=int, default=MOST, help=f"of one spec ({MOST})")
    made.add_argument("--axis", help="only specs with this axis, such as tp")
    made.add_argument("--folder", type=Path, help="for specs that fail (a new one)")
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
