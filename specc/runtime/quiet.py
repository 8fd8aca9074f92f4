"""Keeps remarks of native libraries off standard output, and everything else on it."""

import os
import re
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout

from specc.targets import parse_version
from specc.targets.troubles import CHATTER, CHATTY_TORCH


@contextmanager
def without_chatter(torch_version: str) -> Generator[None, None, None]:
    """Drop the lines that the collective library of some versions of torch prints.

    Only what native code writes passes through a filter; Python's own output goes to the same
    place as before, and a terminal stays one.
    """
    if parse_version(torch_version) not in CHATTY_TORCH:
        yield
        return
    sys.stdout.flush()
    outside = os.dup(1)
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    thread = threading.Thread(target=_pass_on, args=(reader, outside), daemon=True)
    thread.start()
    try:
        with os.fdopen(os.dup(outside), "w") as python_output, redirect_stdout(python_output):
            yield
    finally:
        os.dup2(outside, 1)  # the last writer of the pipe is gone, so the thread ends
        thread.join()
        os.close(outside)


def _pass_on(reader: int, outside: int) -> None:
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            if not re.match(CHATTER, line):
                os.write(outside, line)
