"""What the pool and its processes say to each other."""

from typing import Any

import attrs

READY = b"ready"  # what a process says when it can take a job


@attrs.frozen
class Task:
    """One rank's share of a job.

    Args:
        function: `module:name`, importable in the process.
        arguments: pickled tuple; unpickled inside the job, so that a failure is the job's.
        store: file over which the ranks find each other.
        backend: of the default process group; None makes no group.
    """

    function: str
    arguments: bytes
    rank: int
    world: int
    env: dict[str, str]
    store: str
    backend: str | None
    timeout_s: float


@attrs.frozen
class Outcome:
    """What became of a job on one rank.

    Args:
        value: what the function returned, if it did.
        error: type and text of the exception, or how the process ended; None if all went well.
        is_consequence: the rank failed because another one had gone.
        when_ns: on the monotonic clock, which all processes of a machine share.
    """

    rank: int
    value: Any = None
    error: str | None = None
    traceback: str = ""
    is_consequence: bool = False
    when_ns: int = 0
