"""The printed training loop."""

from pathlib import Path

from specc.api import load

SPEC = Path(__file__).parents[2] / "cases" / "parity" / "whole.spec"


def test_terms_that_do_not_fit_one_line_stand_on_lines_of_their_own() -> None:
    text = load(SPEC, target="cpu", world=4).text()

    assert "loss = squared_error(scores, y) / (B * S * OUT * ACCUMULATE * SAME)\n" in text
    assert "loss = loss + squared_error(guess, z) / (B * D * ACCUMULATE * SAME * CP)\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_model_of_ddp_is_freed_before_its_process_group() -> None:
    """A reducer that outlives the group ends gloo's threads under the GIL: one run in 40 hung."""
    main = load(SPEC, target="cpu", world=2).text().partition("def main():")[2]
    assert -1 < main.find("    del model") < main.find("    dist.destroy_process_group()")


def test_a_model_of_fsdp_holds_no_process_group_of_its_own() -> None:
    main = load(SPEC, target="cpu", layout="params", world=2).text().partition("def main():")[2]
    assert "del model" not in main
