"""Executes the printed text of a training, with the parts imported."""

import hashlib
import linecache
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any

from specc.runtime.environment import variables
from specc.runtime.progress import show_progress
from specc.runtime.quiet import without_chatter
from specc.runtime.symptoms import explain
from specc.runtime.worker import (
    describe_failure,
    is_rank,
    obey_agent,
    record_failure,
    summary,
)

RUN_FAILED = 4
ENVIRONMENT = 3


def load_text(text: str, name: str) -> ModuleType:
    """The text as a module that tracebacks, `inspect` and `pickle` treat as if it lay in a file.

    Its `__file__` is `<specc NAME HASH>`, under which `linecache` holds the lines. It is in
    `sys.modules` as `specc_NAME`, which no installed module is called.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    filename = f"<specc {name} {digest}>"
    # Without a time stamp the entry is never compared with a file.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = ModuleType("specc_" + re.sub(r"\W", "_", name))
    module.__file__ = filename
    sys.modules[module.__name__] = module
    exec(compile(text, filename, "exec"), module.__dict__)  # noqa: S102  this is what we are for
    return module


def train_text(
    text: str, name: str, *, env: Mapping[str, str] | None = None, bar: bool = True
) -> int:
    """Train in this process; the exit code of the command.

    Args:
        env: variables that the text reads, such as METRICS and RESUME.
        bar: show a progress bar, if this is the first rank and standard error is a terminal.

    Returns:
        0; 3 if the text could not be loaded because something is not installed; 4 if the run
        failed or was stopped. What went wrong is told to the agent if there is one, else printed.
    """
    with variables(env or {}):
        obey_agent(os.environ)
        try:
            module = load_text(text, name)
        except Exception as error:  # noqa: BLE001  whatever importing torch may raise
            return _fail(error, _code_of_import(error))
        device = getattr(module, "DEVICE", "")
        try:
            with (
                without_chatter(_torch_version()),
                show_progress(module, sys.stderr, enabled=bar and _is_first()),
            ):
                module.main()
        except KeyboardInterrupt:
            print("stopped by Ctrl-C", file=sys.stderr)  # noqa: T201  the user sits there
            return RUN_FAILED
        except SystemExit as refusal:
            return 0 if refusal.code in (None, 0) else _fail(refusal, RUN_FAILED, device)
        except Exception as error:  # noqa: BLE001  whatever a training may raise
            return _fail(error, RUN_FAILED, device)
    return 0


def train_records(
    text: str, name: str, steps: int | None = None, env: Mapping[str, str] | None = None
) -> list[dict[str, float | str]]:
    """The records of the first `steps` steps (all without it), tensors as numbers.

    A job for the pool: it runs the `main` of the text in the process group that exists, so a
    record also has what `main` adds to it, such as the digest of the weights.
    """
    records: list[dict[str, float | str]] = []
    with variables(env or {}):
        module = load_text(text, name)
        vars(module)["train"] = _recording(module.train, records, steps)
        module.main()
    return records


def _recording(
    train: Callable[..., Iterator[dict[str, Any]]],
    records: list[dict[str, float | str]],
    steps: int | None,
) -> Callable[..., Generator[dict[str, Any], None, None]]:
    def recorded(*args: object, **kwargs: object) -> Generator[dict[str, Any], None, None]:
        for row in islice(train(*args, **kwargs), steps):
            yield row
            records.append({key: _plain(value) for key, value in row.items()})

    return recorded


def _plain(value: Any) -> float | str:  # noqa: ANN401  a tensor, but this module has no torch
    return value.item() if hasattr(value, "item") else value


def _torch_version() -> str:
    """Of the torch that the text has imported."""
    return str(getattr(sys.modules.get("torch"), "__version__", ""))


def _is_first() -> bool:
    return not is_rank(os.environ) or os.environ["RANK"] == "0"


def _code_of_import(error: Exception) -> int:
    is_missing = isinstance(error, ImportError) or explain(summary(error)) is not None
    return ENVIRONMENT if is_missing else RUN_FAILED


def _fail(error: BaseException, code: int, device: str = "") -> int:
    """Say what went wrong: to the agent, which speaks for all ranks, and into the rank's log."""
    is_told = record_failure(error, os.environ, device)
    if not (is_told and _is_first()):
        print(describe_failure(error, device), file=sys.stderr)  # noqa: T201  terminal or log
    return code
