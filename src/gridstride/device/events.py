"""Events as users have them: points in a stream's work, to wait for and to measure between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridstride.device.choice import device as choose
from gridstride.device.current import refuse_in_capture
from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from gridstride.protocol import Device
    from gridstride.protocol import Event as DeviceEvent


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
        from gridstride.device.streams import as_stream  # streams make events, too

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
