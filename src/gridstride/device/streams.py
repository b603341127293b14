"""Streams and events as users have them: `with gs.stream():`, and what else may be called a stream."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from gridstride.device.choice import device as choose
from gridstride.device.choice import use
from gridstride.device.current import in_stream, refuse_in_capture
from gridstride.protocol import DeviceError, LaunchError
from gridstride.protocol import Stream as DeviceStream

if TYPE_CHECKING:
    from gridstride.protocol import Device
    from gridstride.protocol import Event as DeviceEvent

_entered: ContextVar[tuple[AbstractContextManager[None], ...]] = ContextVar("gridstride_entered", default=())


class Stream:
    """A queue of one device, whose work runs in order. On the virtual GPU work is done when the call that gives it
    returns, so that a stream there only says what a launch belongs to.

    As a context manager: the device is in use, and launches and copies go to the stream, until the end of the `with`.
    A physical GPU's is also what PyTorch, CuPy and cuda.core take for a stream (`__cuda_stream__`).
    """

    __slots__ = ("device", "queue")

    def __init__(self, device: Device, queue: DeviceStream) -> None:
        self.device = device
        self.queue = queue

    @property
    def handle(self) -> int:
        """The CUstream on a physical GPU; a number that tells streams apart on a virtual one."""
        return self.queue.handle

    def synchronize(self) -> None:
        """Wait until all the work given to the stream is done; DeviceLost when a kernel has failed."""
        self.queue.synchronize()

    @property
    def done(self) -> bool:
        """Whether all the work given to the stream is done."""
        return self.queue.done

    def record(self) -> Event:
        """A new event that marks the work given to the stream so far."""
        return event(device=self.device).record(self)

    def wait(self, event: Event) -> None:
        """Let the stream's later work begin only once the work that `event` marks is done; the host goes on.

        TypeError for what is no event, DeviceError for one that marks nothing or is on another device.
        """
        if not isinstance(event, Event):
            raise TypeError(f"{self!r} waits for events, {event!r} is none: other.record() gives one of another stream")
        if event.device is not self.device:
            raise DeviceError(f"{self!r} cannot wait for {event!r}: they are of two devices")
        self.queue.wait(event.recorded)

    @property
    def __cuda_stream__(self) -> Any:
        if self.device.kind != "physical":
            raise AttributeError(f"this stream is of {self.device.name}, no other library can work in it")
        return lambda: (0, self.handle)

    def __enter__(self) -> Stream:
        refuse_in_capture(f"`with {self!r}:`", "leave it out, graph.launch(stream) says where to run")
        entering = _work_in(self)
        entering.__enter__()
        _entered.set((*_entered.get(), entering))
        return self

    def __exit__(self, *_: object) -> None:
        *outer, last = _entered.get()
        _entered.set(tuple(outer))
        last.__exit__(None, None, None)

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of {self.device.name}>"


@contextmanager
def _work_in(stream: Stream) -> Iterator[None]:
    with use(stream.device), in_stream(stream.device, stream.queue):
        yield


def stream(priority: int = 0, *, device: Device | str | None = None) -> Stream:
    """A new stream. The lower `priority` goes first: 0 (least) to -5 on today's GPUs; the virtual GPU takes the number.

    A physical one keeps order with the default stream. TypeError, or ValueError for a priority that there is not.
    """
    chosen = choose(device)
    try:
        level = operator.index(priority)
    except TypeError:
        raise TypeError(f"stream: priority = {priority!r} is not a whole number") from None
    least, greatest = chosen.priorities
    if not greatest <= level <= least:
        raise ValueError(f"stream: priority = {level}: {chosen.name} has {least} (least) to {greatest} (goes first)")
    return Stream(chosen, chosen.stream(level))


def as_stream(device: Device, stream: Any) -> DeviceStream:
    """Whatever a user calls a stream, as one of `device`: its own, PyTorch's, `__cuda_stream__`, a CUstream number.

    Raises LaunchError for anything else, for another device's, and for a GPU's stream on a virtual device.
    """
    if isinstance(stream, Stream):
        return _own(stream, device)
    # Of the type: asking the object itself would ask a physical GPU whether the stream is done.
    if all(hasattr(type(stream), name) for name in ("handle", "synchronize", "wait")):
        own: DeviceStream = stream
        return own
    handle = stream if isinstance(stream, int) else getattr(stream, "cuda_stream", None)
    if handle is None and hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    if handle is None:
        raise LaunchError(f"stream={stream!r} is not a stream: use gs.stream() or torch.cuda.Stream()")
    borrow = getattr(device, "borrow_stream", None)
    if borrow is None:
        raise LaunchError(f"stream={stream!r} belongs to a physical GPU, and the work is on {device.name}")
    borrowed: DeviceStream = borrow(int(handle))
    return borrowed


def _own(stream: Stream, device: Device) -> DeviceStream:
    if stream.device is device:
        return stream.queue
    another = "another " if stream.device.name == device.name else ""
    raise LaunchError(
        f"stream={stream!r} is of {another}{stream.device.name}, the work is on {device.name}: `with stream:` "
        "takes work to the stream's device"
    )


class Event:
    """A point in the work of one device's streams; it marks nothing before `record`, and the last call counts."""

    __slots__ = ("_mark", "_marked", "device", "timing")

    def __init__(self, device: Device, mark: DeviceEvent, timing: bool) -> None:
        self.device = device
        self.timing = timing
        self._mark = mark
        self._marked = False

    def record(self, stream: Any = None) -> Event:
        """Mark the work given to `stream` (None: where a launch would go now) so far. Returns itself."""
        refuse_in_capture("an event", "record it in front of graph.launch(), or behind")
        self._mark.record(None if stream is None else as_stream(self.device, stream))
        self._marked = True
        return self

    @property
    def recorded(self) -> DeviceEvent:
        """The device's own event; DeviceError before it marks anything, when CUDA would take it for done."""
        if not self._marked:
            raise DeviceError(f"{self!r} was never recorded: event.record(stream), or event = stream.record()")
        return self._mark

    def synchronize(self) -> None:
        """Wait until the marked work is done; DeviceLost when a kernel has failed."""
        self.recorded.synchronize()

    @property
    def done(self) -> bool:
        """Whether the marked work is done."""
        return self.recorded.done

    def elapsed(self, since: Event) -> float:
        """Milliseconds from `since` to this event; waits for both.

        On a physical GPU of its own clock. The virtual GPU has none that would mean anything: there it is the host's
        clock, which says how long the simulation took. TypeError, or DeviceError for events without times.
        """
        if not isinstance(since, Event):
            raise TypeError(f"elapsed(since): {since!r} is no event")
        if since.device is not self.device:
            raise DeviceError(f"no time lies between {since!r} and {self!r}: they are of two devices")
        for event in (since, self):
            if not event.timing:
                raise DeviceError(f"{event!r} was made without times: gs.event(timing=True)")
        since.synchronize()
        return self.recorded.elapsed_ms(since.recorded)

    def __repr__(self) -> str:
        return f"<event of {self.device.name}>"


def event(*, timing: bool = True, device: Device | str | None = None) -> Event:
    """A new event; one without `timing` costs a physical GPU's stream less, and has no `elapsed`."""
    chosen = choose(device)
    return Event(chosen, chosen.event(timing), timing)
