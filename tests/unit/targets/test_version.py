"""Versions and ranges of them."""

from __future__ import annotations

import pytest

from specc.targets.platform import Needs, Platform
from specc.targets.version import ANY, Range, Version, parse_version, version_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.13.0+cpu", (2, 13, 0)),
        ("2.7.1", (2, 7, 1)),
        ("2.9.1.post1", (2, 9, 1, 1)),
        ("2.11.0post2", (2, 11, 0, 2)),
        ("2.10.0.dev20251001+cu128", (2, 10, 0)),
        ("2.9.0a0+git8b583b3", (2, 9, 0)),
        ("2.8.0rc3", (2, 8, 0)),
        ("unknown", ()),
    ],
)
def test_versions_are_read(text: str, expected: Version) -> None:
    assert parse_version(text) == expected


def test_versions_compare_as_numbers_and_a_post_release_is_newer() -> None:
    texts = ["2.7.1", "2.9.0", "2.9.1", "2.9.1.post1", "2.11.0", "2.11.0.post2"]
    versions = [parse_version(text) for text in texts]
    assert versions == sorted(versions)
    assert [version_text(version) for version in versions] == texts


@pytest.mark.parametrize(
    ("wanted", "inside", "outside", "text"),
    [
        (Range((2, 9)), (2, 9, 0), (2, 8, 9), "2.9 or newer"),
        (Range(below=(2, 8)), (2, 7, 1), (2, 8), "before 2.8"),
        (Range((2, 7, 1), (2, 11)), (2, 10), (2, 11, 0), "2.7.1 to before 2.11"),
    ],
)
def test_ranges(wanted: Range, inside: Version, outside: Version, text: str) -> None:
    assert inside in wanted
    assert outside not in wanted
    assert wanted.text == text
    assert wanted
    assert not ANY


def test_what_is_not_known_is_taken_from_the_floor_only_where_that_is_safe() -> None:
    floor = Platform(torch=(2, 7, 1))
    unknown = Platform()
    assert Needs(torch=Range((2, 7))).met(unknown, floor) is True
    assert Needs(torch=Range((2, 9))).met(unknown, floor) is None
    assert Needs(torch=Range(below=(2, 9))).met(unknown, floor) is None  # it may be newer
    assert Needs(plugin=Range((1, 0))).met(unknown, floor) is None
    assert Needs(torch=Range((2, 9)), never=True).met(unknown, floor) is False


def test_one_condition_that_fails_settles_it() -> None:
    needs = Needs(plugin=Range((2, 9)), arch=Range((3, 1)))
    assert needs.met(Platform(arch=(2, 2)), Platform()) is False
    assert needs.met(Platform(arch=(3, 1)), Platform()) is None
    assert needs.met(Platform(plugin=(2, 9, 1), arch=(3, 1)), Platform()) is True
