"""What a script carries of the parts."""

from pathlib import Path

from specc.api import load
from specc.emit.link import definitions

SPECS = Path(__file__).parents[3] / "specs"


def test_a_local_name_brings_no_definition_of_another_part() -> None:
    """`total` is a local name in the ring and a sum in the losses, which this script has not."""
    assert "total" in definitions("losses")
    script = load(SPECS / "ring.spec", target="cpu", world=4).script()
    assert "def ring_attention(" in script
    assert "def total(" not in script
