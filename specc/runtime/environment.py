"""Environment variables that hold for a while."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager


@contextmanager
def variables(env: Mapping[str, str]) -> Generator[None, None, None]:
    """Set the variables for this process and the processes it starts, and set them back."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
