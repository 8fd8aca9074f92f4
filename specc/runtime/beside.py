"""Modules in the folder of a spec can be imported while it is built, as those beside a script."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def modules_beside(spec: str) -> Generator[None, None, None]:
    """Let modules in the folder of a spec be imported."""
    folder = str(Path(spec).resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
