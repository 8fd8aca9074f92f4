"""Compares the records of trainings on a device with those on the CPU: for gpu_check.sh.

Only the standard library is used, so it runs where specc is not installed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

# Largest relative difference of a loss. fp32 differs by the order of sums, which AdamW amplifies
# over the steps; bf16 rounds to 8 bits, and devices round in different places.
TOLERANCES = {"toy_ddp": 1e-3, "quickstart": 1e-2, "tinyllm": 5e-2, "tensor": 1e-2}
# The loss of tinyllm is a mean that starts near 0, so its difference is judged against this.
SMALLEST = 0.1
WARM = 5  # records that the step time leaves out


def records(path: Path) -> list[dict[str, float]]:
    """The records of a training, in order."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def difference(one: list[dict[str, float]], two: list[dict[str, float]], key: str) -> float:
    """Largest relative difference over the steps."""
    return max(
        abs(a[key] - b[key]) / max(abs(a[key]), abs(b[key]), SMALLEST)
        for a, b in zip(one, two, strict=True)
    )


def compare(name: str, device: str) -> bool:
    """Print the line of one spec; whether its losses agree."""
    cpu, other = (records(Path(f"{name}_{target}.jsonl")) for target in ("cpu", device))
    same_start = cpu[0]["weights"] == other[0]["weights"]
    first = difference(cpu[:1], other[:1], "loss")
    worst = difference(cpu, other, "loss")
    seconds = statistics.median(row["step_s"] for row in other[WARM:])
    rate = other[0].get("tokens", other[0].get("samples", 0)) / seconds
    agrees = same_start and worst <= TOLERANCES[name]
    cells = (
        name,
        f"{len(other)} steps",
        "same weights" if same_start else "OTHER WEIGHTS",
        f"step 0 {first:.1e}",
        f"worst {worst:.1e} of {TOLERANCES[name]:.0e}",
        f"loss {other[-1]['loss']:.4f}",
        f"{seconds * 1000:.1f} ms a step, {rate:,.0f} a second",
        "ok" if agrees else "DIFFERS",
    )
    print(" | ".join(cells))
    return agrees


def main() -> int:
    """0 if all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    results = [compare(name, args.device) for name in args.names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
