"""Text becomes the bytes that it is, and what cannot train is said."""

from pathlib import Path

import pytest
import torch

from specc.parts.text import text_tokens


def test_files_are_joined_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("second \u00e9", encoding="utf-8")
    (tmp_path / "a.txt").write_text("first", encoding="utf-8")
    (tmp_path / "c.md").write_text("other", encoding="utf-8")

    tokens, held_out = text_tokens(f"{tmp_path}/*.txt", 8)

    assert bytes(tokens.tolist()).decode() == "first\nsecond \u00e9"
    assert tokens.dtype == torch.uint8
    assert len(held_out) == 0


def test_folders_are_searched_where_the_pattern_says_so(tmp_path: Path) -> None:
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "deep" / "deeper" / "a.txt").write_text("0123456789", encoding="utf-8")

    assert len(text_tokens(f"{tmp_path}/**/*.txt", 4)[0]) == 10


def test_what_is_held_out_is_the_end_and_not_trained_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes(range(100)))

    train, held_out = text_tokens(f"{tmp_path}/a.txt", 8, held_out=0.1)

    assert train.tolist() == list(range(90))
    assert held_out.tolist() == list(range(90, 100))


def test_the_builtin_text_is_there_on_every_python_and_always_the_same() -> None:
    first, second = text_tokens("builtin", 1024), text_tokens("builtin", 1024, held_out=0.1)

    assert len(first[0]) > 300_000
    assert torch.equal(first[0], torch.cat(second))
    assert "assert" in bytes(first[0][:20_000].tolist()).decode()


@pytest.mark.parametrize(
    ("size", "length", "held_out", "message"),
    [
        (100, 100, 0.0, "100 of its 100 bytes are too few for one sample of 101"),
        (100, 10, 0.1, "10 of its 100 bytes are too few for one sample of 11"),
        (0, 4, 0.0, "0 of its 0 bytes are too few"),
    ],
)
def test_a_part_that_holds_no_sample_is_said(
    tmp_path: Path, size: int, length: int, held_out: float, message: str
) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * size)

    with pytest.raises(SystemExit, match=message):
        text_tokens(f"{tmp_path}/a.txt", length, held_out)


def test_one_sample_is_enough(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 101)

    assert len(text_tokens(f"{tmp_path}/a.txt", 100)[0]) == 101


def test_a_missing_file_is_said_with_the_folder_it_was_sought_from(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"nothing-here.*no such file, seen from {Path.cwd()}"):
        text_tokens(f"{tmp_path}/nothing-here/*.txt", 8)
