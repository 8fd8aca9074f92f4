"""The printed training loop."""

from pathlib import Path

from specc.api import load

SPEC = Path(__file__).parents[2] / "cases" / "parity" / "whole.spec"


def test_terms_that_do_not_fit_one_line_stand_on_lines_of_their_own() -> None:
    text = load(SPEC, target="cpu", world=4).text()

    assert "loss = squared_error(scores, y) / (B * S * OUT * ACCUMULATE * SAME)\n" in text
    assert "loss = loss + squared_error(guess, z) / (B * D * ACCUMULATE * SAME * CP)\n" in text
    assert max(map(len, text.splitlines())) <= 100
