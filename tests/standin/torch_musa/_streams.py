"""Streams and events of torch.musa: nothing runs behind them, events keep the host's clock."""

import time
from typing import Any

import torch

from torch_musa._device import device_index


class Event:
    """A moment on a stream; elapsed_time needs enable_timing=True, as on the device."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self.blocking = blocking
        self.interprocess = interprocess
        self.recorded_s: float | None = None

    def record(self, stream: "Stream | None" = None) -> None:
        del stream
        self.recorded_s = time.perf_counter()

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds from this event to another.

        Raises:
            RuntimeError: if one of them takes no time or was not recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("MUSA error: invalid resource handle: the events need enable_timing")
        if self.recorded_s is None or end_event.recorded_s is None:
            raise RuntimeError("MUSA error: both events must be recorded before elapsed_time")
        return 1e3 * (end_event.recorded_s - self.recorded_s)

    def wait(self, stream: "Stream | None" = None) -> None:
        """Returns at once: what the event stands for is done."""

    def synchronize(self) -> None:
        """Returns at once: what the event stands for is done."""

    def query(self) -> bool:
        return True


class Stream(torch.Stream):
    """One of the streams of a device; work put on it is done when its call returns."""

    def __new__(cls, device: Any = None, priority: int = 0) -> "Stream":  # noqa: PYI034  Self is 3.11
        place = torch.device("musa", device_index(device))
        return super().__new__(cls, device=place, priority=priority)

    def wait_event(self, event: Any) -> None:
        """Returns at once: there is nothing to wait for."""

    def wait_stream(self, other: torch.Stream) -> None:
        """Returns at once: there is nothing to wait for."""

    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        """Returns at once: there is nothing to wait for."""

    def query(self) -> bool:
        return True


class StreamContext:
    """A context in which a stream is the current one of its device; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self.before: Stream | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self.before = current_stream(self.stream.device)
            set_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        if self.before is not None:
            set_stream(self.before)


default_streams: dict[int, Stream] = {}
current_streams: dict[int, Stream] = {}


def default_stream(device: Any = None) -> Stream:
    index = device_index(device)
    return default_streams.setdefault(index, Stream(index))


def current_stream(device: Any = None) -> Stream:
    index = device_index(device)
    return current_streams.get(index) or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    if stream is not None:
        current_streams[stream.device_index] = stream


def stream(stream: Stream | None) -> StreamContext:
    return StreamContext(stream)


def is_current_stream_capturing() -> bool:
    return False


PUBLIC = (
    Event,
    Stream,
    StreamContext,
    default_stream,
    current_stream,
    set_stream,
    stream,
    is_current_stream_capturing,
)
