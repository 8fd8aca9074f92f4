"""The same training in fp32 and uncompiled."""

from pathlib import Path

import attrs
import pytest

from specc.api import load
from specc.plan.collectives import collectives
from specc.plan.exact import exact
from specc.printing.text import print_text

SPECS = Path(__file__).parents[3] / "specs"


@pytest.mark.parametrize("name", ["tinyllm", "longctx", "zoo/gpt2_124m"])
def test_nothing_of_lower_precision_and_no_compiled_part_is_left(name: str) -> None:
    facts = load(SPECS / f"{name}.spec", target="cuda").facts()
    before, after = (
        "\n".join(section.code for section in print_text(each).sections)
        for each in (facts, exact(facts))
    )
    assert "bfloat16" in before
    assert "bfloat16" not in after
    assert ".compile(" not in after
    assert {one.dtype for one in collectives(exact(facts))} == {"fp32"}


def test_all_else_stays() -> None:
    facts = load(SPECS / "hsdp.spec", target="cpu").facts()
    assert exact(facts) == attrs.evolve(facts, training=exact(facts).training)
