"""Streams and events of the physical GPU."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gridstride.device.driver import bindings
from gridstride.protocol import DeviceError, LaunchError, Stream

if TYPE_CHECKING:
    from gridstride.device.physical import PhysicalGPU
    from gridstride.protocol import Device, Event

_NOT_READY = 600


class PhysicalStream:
    """A CUDA stream; `core` is `cuda.core`'s stream, which also answers `__cuda_stream__`."""

    __slots__ = ("_device", "core", "handle")

    def __init__(self, device: PhysicalGPU, core: Any) -> None:
        self._device = device
        self.core = core
        self.handle = int(core.handle)

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of {self._device.name}>"

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def synchronize(self) -> None:
        """Wait until all the work given to the stream is done; DeviceLost when a kernel has failed."""
        with self._device.current():
            self._device.check(bindings().cuStreamSynchronize(self.handle), "waiting for a stream")

    def wait(self, event: Event) -> None:
        """Let the stream's later work begin only once `event` is done."""
        with self._device.current():
            result = bindings().cuStreamWaitEvent(self.handle, _physical(event).handle, 0)
            self._device.check(result, "letting a stream wait for an event")


class PhysicalEvent:
    """A CUDA event that records time."""

    __slots__ = ("__weakref__", "_device", "handle")

    def __init__(self, device: PhysicalGPU) -> None:
        self._device = device
        with device.current():
            self.handle = device.check(bindings().cuEventCreate(0), "making an event")
        weakref.finalize(self, _destroy, device, self.handle).atexit = False

    def record(self, stream: Stream | None = None) -> None:
        """Mark the work given to `stream` (None: the device's current stream) so far."""
        handle = self._device.current_stream() if stream is None else stream.handle
        with self._device.current():
            self._device.check(bindings().cuEventRecord(self.handle, handle), "recording an event")

    def synchronize(self) -> None:
        """Wait until the marked work is done; DeviceLost when a kernel has failed."""
        with self._device.current():
            self._device.check(bindings().cuEventSynchronize(self.handle), "waiting for an event")

    @property
    def done(self) -> bool:
        """Whether the marked work is done."""
        with self._device.current():
            result = bindings().cuEventQuery(self.handle)
        if int(result[0]) == _NOT_READY:
            return False
        self._device.check(result, "asking for an event")
        return True

    def elapsed_ms(self, start: Event) -> float:
        """Milliseconds of device time from `start` to this event; waits for this event."""
        self.synchronize()
        with self._device.current():
            result = bindings().cuEventElapsedTime(_physical(start).handle, self.handle)
        return float(self._device.check(result, "measuring the time between two events"))


def _physical(event: Event) -> PhysicalEvent:
    if not isinstance(event, PhysicalEvent):
        raise DeviceError(f"{event!r} is not an event of a physical GPU")
    return event


def _destroy(device: PhysicalGPU, handle: Any) -> None:
    with suppress(DeviceError), device.current():  # a lost context has taken the event with it
        bindings().cuEventDestroy(handle)


def as_stream(device: Device, stream: Any) -> Stream:
    """Whatever a user calls a stream, as one of `device`: its own, PyTorch's, `__cuda_stream__`, a CUstream number.

    Raises LaunchError for anything else, and for a GPU's stream on a virtual device.
    """
    if isinstance(stream, Stream):
        return stream
    handle = stream if isinstance(stream, int) else getattr(stream, "cuda_stream", None)
    if handle is None and hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    if handle is None:
        raise LaunchError(f"stream={stream!r} is not a stream: use device().stream() or torch.cuda.Stream()")
    borrow = getattr(device, "borrow_stream", None)
    if borrow is None:
        raise LaunchError(f"stream={stream!r} belongs to a physical GPU, and the launch is on {device.name}")
    borrowed: Stream = borrow(int(handle))
    return borrowed
