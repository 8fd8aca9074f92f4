"""The random specs of `scripts/search`: the same for the same seed, well typed, mostly legal."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from random import Random

from specc.diagnostics import Report
from specc.resolve import resolve
from specc.source import Source
from specc.syntax.format import format_text
from specc.syntax.parse import parse
from tests.search.aims import draw_aim
from tests.search.specs import draw_spec
from tests.search.style import complaints
from tests.search.trial import try_spec

SEEDS = range(40)
LATER = {"E0290", "E0291"}  # of the language, and not built yet
# Of these texts; another one means that a seed that somebody wrote down makes another spec now.
DIGEST = "b2d85fff5cbb9155"


def test_a_seed_makes_the_same_text_everywhere() -> None:
    texts = "".join("".join(map(draw_spec, SEEDS)).split())
    assert hashlib.sha256(texts.encode()).hexdigest()[:16] == DIGEST


def test_every_text_is_formatted_and_well_typed() -> None:
    for seed in SEEDS:
        text = draw_spec(seed)
        assert format_text(text) == text
        file, found = parse(Source("made.spec", text))
        report = Report()
        report.extend(found)
        resolve(file, Path("made.spec"), report)
        codes = {each.code for each in report.diagnostics if each.severity == "error"}
        assert codes <= LATER, (seed, codes)


def test_sizes_of_dims_differ() -> None:
    for seed in SEEDS:
        sizes = draw_aim(Random(seed)).sizes  # noqa: S311
        assert sizes["heads"] % sizes["kv"] == 0
        assert len({sizes[name] for name in ("d", "ff", "vocab", "out")}) == 4


def test_most_specs_are_legal_and_none_is_a_fault_of_ours(tmp_path: Path) -> None:
    legal = 0
    for seed in SEEDS[:10]:
        path = tmp_path / f"try_{seed}.spec"
        path.write_text(draw_spec(seed))
        trial = try_spec(path, seed, ranks=2, most=1, pool=None)
        assert trial.faults == [], seed
        legal += trial.legal > 0
    assert legal > 0.6 * 10


def test_specs_have_every_axis_and_rule() -> None:
    texts = "".join(map(draw_spec, range(300)))
    for form in (
        r"via ulysses\(heads\)", "repeat_kv = true", "via ring$", r"ring\(zigzag = true\)",
        r"within blocks\[0\]", r"= \d+ \{ rep", r"\{ r = ", "tp: +shard .* else S$",
        r"tp: +shard [a-z, ]+$", "same: +replicate", "shard optim", "shard grads", "shard params",
        "recompute each", r"\{ keep = ", "frozen = true", "tie head", r"chunk = \d", "smooth",
        "ignore", "z = 0.01", "mse", r"positions\(ids\)", "window = ", "cap = ", "concat",
        "split", "Buffer", "Param", r"Dropout\(", "accumulate += 3", "clip",
    ):  # fmt: skip
        assert re.search(form, texts, re.MULTILINE), form


def test_ruff_reads_all_scripts_and_names_the_bad_one() -> None:
    assert complaints({"good": "X = 1\n"}) == {}
    assert list(complaints({"good": "X = 1\n", "bad": "import os\n"})) == ["bad"]
