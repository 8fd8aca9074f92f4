"""FSDP2 warns of a model whose result is a view of another tensor: the text copies such a one."""

from __future__ import annotations

import pytest

from specc.printing.text import print_text
from tests.unit.check.specs import SQUARES, facts, spec

BLOCK = """
block Out(x: [B, S, d]) -> [B, S, d] {
  out: Linear(d -> d)
  return out(x)
}
"""


@pytest.mark.parametrize(
    ("body", "is_copied"),
    [
        ("out: Linear(d -> d)\n  return out(x)", True),
        ("out: Linear(d -> d, bias = false)\n  return out(x)", False),
        ("out: Linear(d -> d)\n  h = out(x)\n  return h", True),
        ("out: Linear(d -> d)\n  h = out(x)\n  h: fp32[B, S, d] = h\n  return h", True),
        ("out: Linear(d -> d)\n  return x + out(x)", False),
        ("out: GELU -> Linear(d -> d)\n  return out(x)", True),
        ("out: repeat 2 Out\n  return out(x)", True),
        ("up: Linear(d -> ff)\n  down: Linear(ff -> d)\n  return down(up(x))", True),
    ],
)
def test_a_view_is_copied(body: str, is_copied: bool) -> None:
    model = f"{BLOCK}model Net(x: [B, S, d]) -> y: [B, S, d] {{\n  {body}\n}}\n"
    found = facts(spec("dp: shard B, params", "dp = 2", train=SQUARES, model=model))
    assert (".clone()" in print_text(found).sections[0].code) == is_copied
