"""Graphs: launches and copies that are taken down once and run as often as one likes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gridstride.device.choice import device as choose
from gridstride.device.current import current_stream, in_capture, refuse_in_capture
from gridstride.device.streams import as_stream
from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from gridstride.protocol import Device, Recording


class Graph:
    """What a `with gs.capture()` took down, with the values that arguments had then; arrays that it uses live with it.

    A physical GPU has it as a CUDA graph, which starts with one call of the driver. The virtual GPU runs the same
    launches and copies in their order.
    """

    def __init__(self, device: Device, recording: Recording) -> None:
        self.device = device
        self._recording = recording
        self._retained: list[object] = []
        self._written: list[object] = []
        self._state = "is still captured"

    def add(self, work: Callable[[], None], *, keep: object, written: list[object] | None = None) -> None:
        """Take work instead of doing it; `keep` lives as long as the graph, each launch writes to tensors `written`."""
        self._recording.add(work)
        self._retained.append(keep)
        self._written += written or []

    def launch(self, stream: Any = None) -> None:
        """Run all that was captured in `stream` (None: where a launch would go now), in its order.

        On a physical GPU it returns before that is done; one graph never runs beside itself. DeviceError for a graph
        whose `with gs.capture()` has not ended, or ended with an exception.
        """
        if self._state:
            raise DeviceError(f"{self!r} {self._state}: launch it behind its `with gs.capture()`")
        refuse_in_capture("graph.launch()", "launch one graph behind the other")
        self._recording.launch(current_stream(self.device) if stream is None else as_stream(self.device, stream))
        torch = sys.modules.get("torch")
        if torch is not None and self._written:
            torch.autograd.graph.increment_version(self._written)

    def __len__(self) -> int:
        return len(self._retained)

    def __repr__(self) -> str:
        return f"<graph of {len(self)} operations on {self.device.name}>"

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Take down what this thread gives the device until the end of the `with`."""
        try:
            with in_capture(self):
                yield
        except BaseException:
            self._state = "was given up, an exception ended its capture"
            self._recording.give_up()
            raise
        self._state = "could not be made"
        self._recording.end()
        self._state = ""


@contextmanager
def capture(*, device: Device | str | None = None) -> Iterator[Graph]:
    """Take down launches and copies as a graph instead of running them: `with gs.capture() as graph:`.

    They are those of this thread on one device, in one order. DeviceError, with the way out, for what cannot be taken
    down: copies from and to ordinary host memory (`gs.pinned` is the other kind), `.numpy()`, NumPy arrays as arguments
    of kernels, streams and events.
    """
    refuse_in_capture("another capture", "end the first one, and launch one graph behind the other")
    chosen = choose(device)
    graph = Graph(chosen, chosen.recording())
    with graph.capturing():
        yield graph
