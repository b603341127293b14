"""Graphs of the physical GPU: what a stream is given while it captures, made into an executable CUDA graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gridstride.device.current import in_stream
from gridstride.device.physical.driver import bindings
from gridstride.device.physical.physical_streams import PhysicalStream
from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from gridstride.device.physical.physical_gpu import PhysicalGPU
    from gridstride.protocol import Stream


class PhysicalRecording:
    """One capture, and then the graph that came of it.

    The stream that captures is nobody else's, and keeps no order with the default stream, so that what the host does
    meanwhile (memory for new arrays, modules that are loaded) stays outside: in the relaxed mode, which allows it.
    """

    def __init__(self, device: PhysicalGPU) -> None:
        self._device = device
        self._executable: Any = None
        self._stream: PhysicalStream = device.capturing_stream()
        mode = bindings().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with device.current():
            device.check(bindings().cuStreamBeginCapture(self._stream.handle, mode), "beginning a capture")
        device.captures.add(self)

    def add(self, work: Callable[[], None]) -> None:
        """Give work to the stream, which takes it down."""
        with in_stream(self._device, self._stream):
            work()

    def end(self) -> None:
        """Make the graph; DeviceError says what of it the driver refused."""
        graph = self._ended()
        try:
            with self._device.current():
                result = bindings().cuGraphInstantiate(graph, 0)
                self._executable = self._device.check(result, "making a graph of what was captured")
        finally:
            _destroy(self._device, bindings().cuGraphDestroy, graph)
        destroy = bindings().cuGraphExecDestroy
        weakref.finalize(self, self._device.abandon, _destroy, self._device, destroy, self._executable).atexit = False

    def give_up(self) -> None:
        """End the capture and forget it; an exception is on its way."""
        with suppress(DeviceError):
            _destroy(self._device, bindings().cuGraphDestroy, self._ended())

    def launch(self, stream: Stream | None) -> None:
        """Start the graph, and return before it is done."""
        handle = self._device.current_stream() if stream is None else stream.handle
        with self._device.current():
            self._device.check(bindings().cuGraphLaunch(self._executable, handle), "launching a graph")

    def _ended(self) -> Any:
        try:
            with self._device.current():
                return self._device.check(bindings().cuStreamEndCapture(self._stream.handle), "ending a capture")
        finally:
            self._device.capture_ended(self)


def _destroy(device: PhysicalGPU, end: Callable[[Any], object], graph: Any) -> None:
    with suppress(DeviceError), device.current():  # a lost context has taken the graph with it
        end(graph)
