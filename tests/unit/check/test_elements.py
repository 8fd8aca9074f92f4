"""Sizes and tensors beyond 64 bits are findings."""

import pytest

from tests.unit.check.specs import DIMS, findings, says, spec


@pytest.mark.parametrize("size", ["1e19", "1e300", "3e9*4e9"])
def test_a_dim_beyond_64_bits_is_refused(size: str) -> None:
    found = findings(spec(dims=DIMS.replace("dim S = 8", f"dim S = {size}")))
    assert says(found, "E0230") == f"`{size}` is too large @ {size}"


def test_an_axis_beyond_64_bits_is_refused() -> None:
    found = findings(spec(mesh="dp = 1e19"))
    assert says(found, "E0230") == "`1e19` is too large @ 1e19"


def test_a_parameter_with_too_many_elements_is_refused_where_it_is_made() -> None:
    found = findings(spec(dims=DIMS.replace("vocab = 32", "vocab = 1e18")))
    assert {d.code for d in found} == {"E0230"}
    titles = [d.title for d in found]
    expected = "a tensor of shape [vocab, d] has more elements than 64 bits count"
    assert titles.count(expected) == 2  # of the embedding and of the head
    assert "1000000000000000000 x 16" in [d.labels[0].text for d in found]


def test_a_value_with_too_many_elements_is_refused_once_in_each_block() -> None:
    found = findings(spec(dims=DIMS.replace("dim S = 8", "dim S = 2e18")))
    assert {d.code for d in found} == {"E0230"}
    assert len(found) == len({d.labels[0].span.line for d in found}) == 3


def test_sizes_that_torch_can_count_pass() -> None:
    assert findings(spec(dims=DIMS.replace("dim B = 2*dp", "dim B = 2e12"))) == ()
