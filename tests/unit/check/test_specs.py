"""The specs of the repository hold in every situation that they speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from specc.check.situations import examine
from specc.diagnostics import Report
from specc.resolve import resolve
from specc.situation import Situation
from specc.source import Source
from specc.syntax.parse import parse

ROOT = Path(__file__).parents[3] / "specs"
COUNTS = {  # elements of all parameters, tied ones once
    "longctx.spec": 8_030_261_248,
    "tinyllm.spec": 1_339_391_232,
    "toy_ddp.spec": 29_369_344,
    "zoo/gemma2_9b.spec": 9_241_705_984,
    "zoo/gpt2_124m.spec": 124_439_808,
    "zoo/llama31_8b.spec": 8_030_261_248,
    "zoo/qwen3_8b.spec": 8_190_735_360,
}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.spec")), ids=lambda p: p.name)
def test_a_spec_of_the_repository_holds(path: Path) -> None:
    report = Report()
    file, found = parse(Source(str(path), path.read_text(encoding="utf-8")))
    report.extend(found)
    program = resolve(file, path, report)
    assert program is not None
    facts = examine(program, Situation("cpu"), report)
    assert not [d for d in report.diagnostics if d.severity == "error"]
    if facts is not None:
        count = sum(p.numel for p in facts.parameters if p.tied_to is None)
        assert COUNTS.get(str(path.relative_to(ROOT)), count) == count


def test_all_counted_specs_are_there() -> None:
    assert all((ROOT / name).is_file() for name in COUNTS)
