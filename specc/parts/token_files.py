"""Token ids in binary files, mapped into memory: a read touches only the tokens that it returns."""

import bisect
import itertools
import mmap
from pathlib import Path

import torch

from specc.parts.files import matching_files


class TokenFiles:
    """Files of raw token ids, one after the other as one sequence; a slice is an int64 tensor."""

    def __init__(self, paths: list[str], dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.files = [map_file(path) for path in paths]
        self.ends = list(itertools.accumulate(len(file) // dtype.itemsize for file in self.files))

    def __len__(self) -> int:
        return self.ends[-1]

    def __getitem__(self, tokens: slice) -> torch.Tensor:
        begin, end, _ = tokens.indices(len(self))
        pieces = [torch.empty(0, dtype=torch.int64)]
        while begin < end:
            number = bisect.bisect_right(self.ends, begin)
            start = self.ends[number - 1] if number else 0
            stop = min(end, self.ends[number])
            size = self.dtype.itemsize
            data = self.files[number][(begin - start) * size : (stop - start) * size]
            pieces.append(torch.frombuffer(bytearray(data), dtype=self.dtype).long())
            begin = stop
        return torch.cat(pieces)


def map_file(path: str) -> mmap.mmap:
    """The bytes of a file, to be read only where they are used."""
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def token_files(pattern: str, dtype: torch.dtype, length: int) -> TokenFiles:
    """The files that match `pattern`, in the order of their names.

    Args:
        dtype: of the ids in the files, torch.uint16 or torch.int32, in this machine's byte order.
        length: of a sample; the files together must hold one, that is `length` + 1 tokens.

    Exits with a message if no file matches, a file is empty or cut, or there are too few tokens.
    """
    paths = matching_files(pattern)
    for path in paths:
        size = Path(path).stat().st_size
        if size == 0 or size % dtype.itemsize:
            raise SystemExit(
                f"{path}: {size:,} bytes are no whole number of {dtype} ids: "
                "the file is empty, cut or of another type"
            )
    tokens = TokenFiles(paths, dtype)
    if len(tokens) <= length:
        raise SystemExit(
            f"{pattern}: {len(tokens):,} tokens, a sample needs {length + 1:,}: "
            "shorten the samples or give more files"
        )
    return tokens
