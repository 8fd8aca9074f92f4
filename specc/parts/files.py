"""Finds the files that hold the data."""

import glob
from pathlib import Path


def matching_files(pattern: str) -> list[str]:
    """The files that match `pattern` (`**` goes into folders), in the order of their names.

    Exits with a message if there is none.
    """
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207  a pattern may be absolute
    paths = sorted(path for path in found if Path(path).is_file())
    if not paths:
        raise SystemExit(f"{pattern}: no such file, seen from {Path.cwd()}")
    return paths
