"""What people wait for without torch: `check`, `emit` and `fmt`, cold, and on a long file.

    python -m benchmarks.time_check

The floor of a cold command is a process that imports every module which the command imports and
which is not specc's: the interpreter, lark, attrs and what they need.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.paired import ROOT, child_cpu_seconds, clocked, environment, machine, paired, table
from specc.api import load, read
from specc.check.ambient import Wishes
from specc.syntax.format import format_text

SPEC = "specs/longctx.spec"
LONG_LINES = 10_000
BLOCK = """block Block{n}(x: [B, d]) -> [B, d] {{
  norm: RMSNorm(d)
  up:   Linear(d -> ff)
  down: Linear(ff -> d)

  h = gelu(up(norm(x)))
  return x + down(h)
}}

"""
TAIL = """mesh {{ dp = world }}

layout {{
  dp: shard B
  dp: shard params per {kinds}
}}

train {{
  data {{ x = randn }}
  loss      = mean(y)
  optimizer = AdamW(lr = 1e-3)
  steps     = 10
}}
"""
LIST_IMPORTS = """
import contextlib, io, sys
from specc.cli import main
with contextlib.redirect_stderr(io.StringIO()):
    code = main({arguments!r})
assert code == 0, code
names = [n for n in sys.modules if n.partition(".")[0] not in ("specc", "__main__", "__mp_main__")]
print("\\n".join(names))
"""


def foreign_imports(arguments: list[str]) -> list[str]:
    """Modules that a command imports and that are not specc's, in the order of their import."""
    code = LIST_IMPORTS.format(arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def floor_code(names: list[str]) -> str:
    """Python that imports these modules; those that only their importer can import are skipped."""
    return (
        "import contextlib, importlib\n"
        f"for name in {names!r}:\n"
        "    with contextlib.suppress(ImportError):\n"
        "        importlib.import_module(name)\n"
    )


def time_cold() -> str:
    """CPU seconds of cold commands, against the floor of the imports of `check`."""
    check = ["check", SPEC]
    python = [sys.executable]
    specc = [*python, "-m", "specc"]
    floor = floor_code(foreign_imports(check))
    output = str(Path(tempfile.mkdtemp(prefix="specc_bench_")) / "out.py")
    variants = {
        "floor of the imports": partial(child_cpu_seconds, [*python, "-c", floor]),
        "specc check": partial(child_cpu_seconds, [*specc, *check]),
        "specc emit": partial(child_cpu_seconds, [*specc, "emit", SPEC, "-o", output]),
        "specc fmt --check": partial(child_cpu_seconds, [*specc, "fmt", "--check", SPEC]),
    }
    return table(f"Cold commands on {SPEC}, CPU time", paired(variants), "ms")


def long_spec(lines: int = LONG_LINES) -> str:
    """A run with so many blocks that the file has about `lines` lines."""
    count = lines // BLOCK.count("\n")
    names = [f"Block{n}" for n in range(count)]
    head = "specc 1\n\ndim d = 64, ff = 4*d\ndim B = 8*dp\n\n"
    blocks = "".join(BLOCK.format(n=n) for n in range(count))
    listed = ", ".join(names)
    model = (
        f"model Long(x: [B, d]) -> y: [B, d] {{\n  layers: [{listed}]\n  return layers(x)\n}}\n\n"
    )
    return head + blocks + model + TAIL.format(kinds="Block0")


def time_long_file() -> str:
    """CPU seconds of checking and of formatting a long file, in a process that is warm."""
    path = Path(tempfile.mkdtemp(prefix="specc_bench_")) / "long.spec"
    path.write_text(format_text(long_spec()), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    wishes = Wishes(target="cpu")
    assert not read(path, wishes).findings(), "the long file is meant to be clean"
    variants = {
        "check": clocked(lambda: read(path, wishes).findings()),
        "fmt": clocked(lambda: format_text(text)),
    }
    return table(f"A file of {text.count(chr(10)):,} lines, warm, CPU time", paired(variants))


def time_emission() -> str:
    """CPU seconds from checked facts to the text of a script, in a process that is warm."""
    names = ("toy_ddp", "tinyllm", "longctx")
    specs = {name: load(ROOT / "specs" / f"{name}.spec", target="cpu") for name in names}
    variants = {name: clocked(spec.script) for name, spec in specs.items()}
    return table("Emission, warm, CPU time", paired(variants), "ms")


def main() -> int:
    """Measure and print."""
    for measure in (time_cold, time_long_file, time_emission):
        print(measure(), flush=True)
    print(machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
