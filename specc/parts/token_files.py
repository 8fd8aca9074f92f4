"""Token ids in binary files, mapped into memory: a read touches only the tokens that it returns."""

import bisect
import itertools
from pathlib import Path

import torch

from specc.parts.files import matching_files


class TokenFiles:
    """Files of raw token ids, one after the other as one sequence; a slice is an int64 tensor."""

    def __init__(self, paths: list[str], dtype: torch.dtype) -> None:
        self.files = [
            torch.from_file(path, size=Path(path).stat().st_size // dtype.itemsize, dtype=dtype)
            for path in paths
        ]
        self.ends = list(itertools.accumulate(len(file) for file in self.files))

    def __len__(self) -> int:
        return self.ends[-1]

    def __getitem__(self, tokens: slice) -> torch.Tensor:
        begin, end, _ = tokens.indices(len(self))
        pieces = []
        while begin < end:
            at = bisect.bisect_right(self.ends, begin)
            first = self.ends[at] - len(self.files[at])
            stop = min(end, self.ends[at])
            pieces.append(self.files[at][begin - first : stop - first].long())
            begin = stop
        return torch.cat(pieces) if pieces else torch.empty(0, dtype=torch.int64)


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
