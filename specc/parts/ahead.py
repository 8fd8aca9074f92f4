"""Draws batches while the device works."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor


def ahead(batches: Iterator[tuple]) -> Iterator[tuple]:
    """The same batches, each drawn in a thread while the one before it is in use.

    What goes wrong in the thread is raised here, in the place of the batch.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        pending = thread.submit(next, batches, None)
        while (batch := pending.result()) is not None:
            pending = thread.submit(next, batches, None)
            yield batch
