"""Streams and events of the physical GPU."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gridstride.device.physical.driver import bindings
from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from gridstride.device.physical.physical_gpu import PhysicalGPU
    from gridstride.protocol import Event, Stream

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

    @property
    def done(self) -> bool:
        """Whether all the work given to the stream is done; DeviceLost when a kernel has failed."""
        with self._device.current():
            return _finished(self._device, bindings().cuStreamQuery(self.handle), "asking for a stream")

    def wait(self, event: Event) -> None:
        """Let the stream's later work begin only once `event` is done."""
        with self._device.current():
            result = bindings().cuStreamWaitEvent(self.handle, _physical(event).handle, 0)
            self._device.check(result, "letting a stream wait for an event")


class PhysicalEvent:
    """A CUDA event; without `timing` it only marks."""

    __slots__ = ("__weakref__", "_device", "handle")

    def __init__(self, device: PhysicalGPU, timing: bool = True) -> None:
        self._device = device
        with device.current():
            flags = 0 if timing else int(bindings().CUevent_flags.CU_EVENT_DISABLE_TIMING)
            self.handle = device.check(bindings().cuEventCreate(flags), "making an event")
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
            return _finished(self._device, bindings().cuEventQuery(self.handle), "asking for an event")

    def elapsed_ms(self, start: Event) -> float:
        """Milliseconds of device time from `start` to this event; waits for this event."""
        self.synchronize()
        with self._device.current():
            result = bindings().cuEventElapsedTime(_physical(start).handle, self.handle)
        return float(self._device.check(result, "measuring the time between two events"))


def _finished(device: PhysicalGPU, result: tuple[Any, ...], doing: str) -> bool:
    """What a query of the driver's says."""
    if int(result[0]) == _NOT_READY:
        return False
    device.check(result, doing)
    return True


def _physical(event: Event) -> PhysicalEvent:
    if not isinstance(event, PhysicalEvent):
        raise DeviceError(f"{event!r} is not an event of a physical GPU")
    return event


def _destroy(device: PhysicalGPU, handle: Any) -> None:
    with suppress(DeviceError), device.current():  # a lost context has taken the event with it
        bindings().cuEventDestroy(handle)
