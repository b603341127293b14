"""What this thread or task works in beside its device: the stream it has entered, and the graph that it captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from gridstride.protocol import Device, Stream


class Capture(Protocol):
    """A graph to which work is still added."""

    @property
    def device(self) -> Device:
        """Whose work it takes."""

    def add(self, work: Callable[[], None], *, keep: object, written: list[object] | None = None) -> None:
        """Take work instead of doing it; `keep` lives as long as the graph, each launch writes to tensors `written`."""


_streams: ContextVar[tuple[tuple[Device, Stream], ...]] = ContextVar("gridstride_streams", default=())
_capture: ContextVar[Capture | None] = ContextVar("gridstride_capture", default=None)


def current_stream(device: Device) -> Stream | None:
    """The innermost stream of `device` that this thread has entered; None: where work goes that names no stream."""
    entered = _streams.get()
    return next((stream for owner, stream in reversed(entered) if owner is device), None) if entered else None


@contextmanager
def in_stream(device: Device, stream: Stream | None) -> Iterator[None]:
    """Work on `device` goes to `stream` until the end of the `with`; None leaves it where it goes."""
    if stream is None:
        yield
        return
    token = _streams.set((*_streams.get(), (device, stream)))
    try:
        yield
    finally:
        _streams.reset(token)


def capturing(device: Device) -> Capture | None:
    """The graph that takes this thread's work on `device`; DeviceError while it is another device's."""
    capture = _capture.get()
    if capture is not None and capture.device is not device:
        raise DeviceError(f"gs.capture() takes work on {capture.device.name}, and this is work on {device.name}")
    return capture


def refuse_in_capture(what: str, instead: str) -> None:
    """DeviceError inside `with gs.capture()`, for what cannot wait until the graph is launched."""
    if _capture.get() is not None:
        raise DeviceError(f"gs.capture(): {what} cannot be captured: {instead}")


@contextmanager
def in_capture(capture: Capture) -> Iterator[None]:
    """Work goes to a graph until the end of the `with`."""
    token = _capture.set(capture)
    try:
        yield
    finally:
        _capture.reset(token)
