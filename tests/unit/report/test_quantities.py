"""Bytes, sizes and tables as people read them."""

import pytest

from specc.report.quantities import bytes_text, sizes_text, table


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1.00 KiB"),
        (64_000, "62.5 KiB"),
        (416 * 2**20, "416 MiB"),
        (1000 * 2**20, "0.98 GiB"),
        (2_007_565_312, "1.87 GiB"),
        (3 * 2**60, "3072 PiB"),
    ],
)
def test_three_digits_count(number: int, text: str) -> None:
    assert bytes_text(number) == text


def test_sizes() -> None:
    assert sizes_text((16, 4096)) == "[16, 4096]"
    assert sizes_text(()) == "[]"


def test_a_table_ends_its_lines_where_the_text_ends() -> None:
    rows = [("a", "bytes", ""), ("long", "1", "x")]

    assert table(rows, indent=1, numbers=(1,)) == [" a     bytes", " long      1  x"]
    assert table([]) == []
