"""The tables of README and docs are what the records say."""

from __future__ import annotations

import pytest

from docs import tables
from tests.unit.docs.markdown import text_of


@pytest.mark.parametrize("page", tables.PAGES)
def test_tables_are_current(page: str) -> None:
    text = text_of(page)

    assert tables.filled(text) == text, "run: python -m docs.tables"


def test_every_table_stands_on_a_page() -> None:
    shown = {found[2] for page in tables.PAGES for found in tables.TABLE.finditer(text_of(page))}

    assert shown == tables.TABLES.keys()


def test_a_stale_table_is_seen() -> None:
    stale = "<!-- table: losses -->\nold\n<!-- end of table -->"

    assert "old" not in tables.filled(stale)
    assert "cross_entropy" in tables.filled(stale)
