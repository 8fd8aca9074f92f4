"""Token files read as one sequence, whatever their number and type; bad ones are said."""

import array
from pathlib import Path

import pytest
import torch

from specc.parts.token_files import token_files

CODES = {torch.uint16: "H", torch.int32: "i"}
BOTH = pytest.mark.parametrize("dtype", CODES, ids=str)


def write(path: Path, ids: list[int], dtype: torch.dtype) -> None:
    path.write_bytes(array.array(CODES[dtype], ids).tobytes())


@pytest.fixture
def ids() -> list[int]:
    return [(i * 40_503) % 65_521 for i in range(1000)]  # some above 32767: uint16, not int16


@BOTH
@pytest.mark.parametrize("ends", [[1000], [1, 1000], [300, 301, 999, 1000]])
def test_slices_are_those_of_one_sequence(
    tmp_path: Path, ids: list[int], dtype: torch.dtype, ends: list[int]
) -> None:
    for number, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        write(tmp_path / f"part-{number}.bin", ids[begin:end], dtype)

    tokens = token_files(f"{tmp_path}/part-*.bin", dtype, 100)

    assert len(tokens) == 1000
    for begin, end in [(0, 1000), (299, 302), (0, 1), (998, 1000), (300, 301), (500, 500)]:
        assert tokens[begin:end].tolist() == ids[begin:end]
    assert tokens[990:2000].tolist() == ids[990:]
    assert tokens[0:1].dtype == torch.int64


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    with path.open("wb") as file:
        file.truncate(2**36)  # 64 GiB of nothing: no blocks on the disk, and more than memory
    tokens = token_files(str(path), torch.int32, 1024)

    assert len(tokens) == 2**34
    assert tokens[2**34 - 2 : 2**34].tolist() == [0, 0]


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"books-\*\.bin: no such file, seen from"):
        token_files(f"{tmp_path}/books-*.bin", torch.uint16, 8)


@BOTH
def test_too_few_tokens_are_said(tmp_path: Path, dtype: torch.dtype) -> None:
    write(tmp_path / "a.bin", list(range(4)), dtype)
    write(tmp_path / "b.bin", list(range(4)), dtype)

    with pytest.raises(SystemExit, match="8 tokens, a sample needs 9"):
        token_files(f"{tmp_path}/*.bin", dtype, 8)
    assert len(token_files(f"{tmp_path}/*.bin", dtype, 7)) == 8


@pytest.mark.parametrize(
    ("size", "dtype"), [(0, torch.uint16), (7, torch.uint16), (6, torch.int32)]
)
def test_an_empty_or_cut_file_is_said(tmp_path: Path, size: int, dtype: torch.dtype) -> None:
    (tmp_path / "a.bin").write_bytes(b"x" * 100)
    (tmp_path / "b.bin").write_bytes(b"x" * size)

    with pytest.raises(SystemExit, match=f"b.bin: {size} bytes are no whole number of {dtype} ids"):
        token_files(f"{tmp_path}/*.bin", dtype, 8)
