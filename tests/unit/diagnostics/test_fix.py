"""Sure edits: together or not at all, in whole files or in none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specc.diagnostics import Diagnostic, Edit, Help, SpeccError
from specc.diagnostics.fix import edited, fixed, write
from specc.source import Source, Span
from tests.unit.diagnostics.places import at


def finding(*edits: Edit, sure: bool = True, code: str = "E0201") -> Diagnostic:
    way = Help("put it right", tuple(edits), "sure" if sure else "likely")
    return Diagnostic(code, "t", helps=(way,))


def texts(*findings: Diagnostic) -> list[str]:
    return [text for _, text in fixed(findings).texts]


def test_edits_of_several_findings_are_applied_in_any_order() -> None:
    source = Source("a.spec", "aa bb cc\n")
    one, two = Edit(at(source, "cc"), "C"), Edit(at(source, "aa"), "AAA")
    assert texts(finding(one), finding(two)) == ["AAA bb C\n"]
    assert edited(source.text, [one, two]) == edited(source.text, [two, one])


def test_only_sure_help_is_applied_and_the_first_of_a_finding() -> None:
    source = Source("a.spec", "aa\n")
    likely = finding(Edit(at(source, "aa"), "b"), sure=False)
    ways = (Help("one", (Edit(at(source, "aa"), "x"),), "sure"),) * 2
    assert fixed([likely]).texts == ()
    result = fixed([Diagnostic("E0201", "t", helps=ways)])
    assert [text for _, text in result.texts] == ["x\n"]


def test_a_finding_whose_edits_meet_another_is_refused_as_a_whole() -> None:
    source = Source("a.spec", "aa bb cc\n")
    first = finding(Edit(at(source, "aa bb"), "x"))
    second = finding(Edit(at(source, "bb cc"), "y"), Edit(Span(source, 9, 9), "end"))
    result = fixed([first, second])
    assert [text for _, text in result.texts] == ["x cc\n"]
    assert (result.applied, result.refused) == ((first,), (second,))


def test_equal_edits_count_once_and_two_insertions_at_one_place_meet() -> None:
    source = Source("a.spec", "ab\n")
    same = [finding(Edit(Span(source, 1, 1), "-"), code=code) for code in ("E0201", "E0202")]
    assert texts(*same) == ["a-b\n"]
    other = finding(Edit(Span(source, 1, 1), "+"))
    assert fixed([same[0], other]).refused == (other,)


def test_edits_that_touch_do_not_meet() -> None:
    source = Source("a.spec", "abc\n")
    assert texts(
        finding(Edit(Span(source, 0, 1), "x")), finding(Edit(Span(source, 1, 2), "y"))
    ) == ["xyc\n"]


@pytest.mark.parametrize("name", ["<stdin>", "<command line>"])
def test_what_is_no_file_is_refused(name: str) -> None:
    source = Source(name, "a\n")
    result = fixed([finding(Edit(at(source, "a"), "b"))])
    assert (result.texts, len(result.refused)) == ((), 1)


def test_several_files_are_written(tmp_path: Path) -> None:
    changes = []
    for name in ("a.spec", "b.spec"):
        path = tmp_path / name
        path.write_text("old\n", encoding="utf-8")
        changes.append((Source(str(path), "old\n"), f"new {name}\n"))
    write(changes)
    assert (tmp_path / "a.spec").read_text(encoding="utf-8") == "new a.spec\n"
    assert (tmp_path / "b.spec").read_text(encoding="utf-8") == "new b.spec\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.spec", "b.spec"]


def test_line_ends_mark_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.spec", tmp_path / "link.spec"
    real.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    real.chmod(0o640)
    link.symlink_to(real)
    write([(Source(str(link), "a\nb\n"), "a\nc\n")])
    assert real.read_bytes() == b"\xef\xbb\xbfa\r\nc\r\n"
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_file_that_changed_meanwhile_stops_all_writing(tmp_path: Path) -> None:
    one, two = tmp_path / "a.spec", tmp_path / "b.spec"
    one.write_text("old\n", encoding="utf-8")
    two.write_text("somebody saved\n", encoding="utf-8")
    with pytest.raises(SpeccError, match=r"b\.spec has changed"):
        write([(Source(str(one), "old\n"), "new\n"), (Source(str(two), "old\n"), "new\n")])
    assert one.read_text(encoding="utf-8") == "old\n"


def test_a_missing_file_stops_all_writing(tmp_path: Path) -> None:
    one = tmp_path / "a.spec"
    one.write_text("old\n", encoding="utf-8")
    gone = Source(str(tmp_path / "gone.spec"), "old\n")
    with pytest.raises(SpeccError, match=r"gone\.spec"):
        write([(Source(str(one), "old\n"), "new\n"), (gone, "new\n")])
    assert one.read_text(encoding="utf-8") == "old\n"


def test_a_failing_rename_puts_the_other_files_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = []
    for name in ("a.spec", "b.spec"):
        path = tmp_path / name
        path.write_text("old\n", encoding="utf-8")
        changes.append((Source(str(path), "old\n"), "new\n"))
    rename = os.replace

    def fails_for_b(path: Path, target: Path) -> Path:
        if Path(target).name == "b.spec":
            raise OSError(28, "No space left on device", str(target))
        rename(path, target)
        return Path(target)

    monkeypatch.setattr(Path, "replace", fails_for_b)
    with pytest.raises(SpeccError, match="No space left on device; no file is changed"):
        write(changes)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "a.spec": "old\n",
        "b.spec": "old\n",
    }
