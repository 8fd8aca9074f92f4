"""How a process behaves that an agent, ours or torchrun's, has started as one of several ranks."""

import ctypes
import json
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from specc.runtime.symptoms import explain

PR_SET_PDEATHSIG = 1  # Source: linux/prctl.h


def is_rank(environ: Mapping[str, str]) -> bool:
    """Whether the process is one rank of a world that somebody else has started."""
    return "RANK" in environ


def obey_agent(environ: Mapping[str, str]) -> None:
    """Let the agent end this process at any time: by Ctrl-C, and by its own death.

    Python's own handler of Ctrl-C waits until a collective returns, which may take minutes.
    """
    if "TORCHELASTIC_RUN_ID" not in environ:
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def record_failure(error: BaseException, environ: Mapping[str, str], device: str = "") -> bool:
    """Tell the agent why this rank failed, in the form that torch's agent reads.

    `@record` on `main` has done so for an exception in it, but not for SystemExit, nor for what
    happened before `main` was called; and it knows no remedies.

    Returns:
        False if there is no agent to tell.

    Source: torch.distributed.elastic.multiprocessing.errors.error_handler, 2.7.1 to 2.13.0.
    """
    name = environ.get("TORCHELASTIC_ERROR_FILE")
    if not name:
        return False
    extra = {
        "py_callstack": describe_failure(error, device),
        "timestamp": str(int(time.time())),
        "monotonic_ns": str(time.monotonic_ns()),  # whole seconds do not tell who was first
    }
    message = {"message": summary(error), "extraInfo": extra}
    Path(name).write_text(json.dumps({"message": message}), encoding="utf-8")
    return True


def summary(error: BaseException) -> str:
    """Type and text of an exception; the text alone of a refusal to start."""
    return f"{error}" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"


def describe_failure(error: BaseException, device: str = "") -> str:
    """The traceback of an exception in the text, and what to do about it if that is known."""
    if isinstance(error, SystemExit):
        return f"{error}"
    trace = own_traceback(error).rstrip()
    symptom = explain(_texts(error), device)
    return trace if symptom is None else f"{trace}\n{symptom}"


def own_traceback(error: BaseException) -> str:
    """The traceback of an exception from its first frame in a printed text on."""
    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<specc "):
        trace = trace.tb_next
    shown = error.__traceback__ if trace is None else trace
    return "".join(traceback.format_exception(type(error), error, shown))


def _texts(error: BaseException) -> str:
    """The texts of an exception and of those that caused it, the first cause first."""
    texts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(texts) < 20:
        texts.insert(0, summary(current))
        current = current.__cause__ or current.__context__
    return "\n".join(texts)
