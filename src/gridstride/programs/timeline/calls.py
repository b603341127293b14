"""What our libcudart tells the timeline, as C passes it; and the time of each kernel, counted once and kept."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from gridstride.programs.graph_calls import GraphCall
from gridstride.programs.status import fault_status
from gridstride.programs.timeline.durations import Work, kernel_work
from gridstride.programs.timeline.model import TO_PEER, Timeline
from gridstride.programs.timeline.order import Touch
from gridstride.programs.timeline.summary import report, totals
from gridstride.programs.timeline.totals import Totals
from gridstride.protocol import Shape
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.loaded import VirtualKernel
from gridstride.virtual.observe.counters import LineCounters

_NON_BLOCKING = 1
"""cudaStreamNonBlocking."""
_DEVICE, _STREAM, _EVENT, WAITED_FREE = range(4)
"""WAITED_ of runtime.h."""
_ALLOCATE, _FREE, _QUEUED, _MANAGED = range(4)
"""SPENT_ of runtime.h."""
_KEPT = 4096
_Relative = tuple[int, int, int, bool]
"""Bytes that a kernel touches: which of its addresses they are counted from, first and last, whether it writes."""


class TimelineCalls:
    """Callbacks of `Board` in runtime.h, from any thread of the program's."""

    def __init__(self, device: VirtualGPU, devices: int = 1) -> None:
        self.device = device
        self.timeline = Timeline(device.model, devices)
        self._lock = threading.RLock()
        self._works: dict[tuple[object, ...], tuple[Work, list[_Relative], LineCounters]] = {}
        self._counted = self._reused = 0

    # -- kernels ------------------------------------------------------------------------------------------------------
    def launch(
        self, kernel: VirtualKernel, shape: Shape, packed: bytes, stream: int, device: int = 0
    ) -> LineCounters:  # fmt: skip
        """Runs it; gives its counts. They are made the first time that it is launched in this shape with these numbers;
        addresses may differ. Later ones take the same time, have the same counts and run on the fast build.
        """
        words = np.frombuffer(packed, "<u8", len(packed) // 8)
        arena = self.device.arena
        is_address = (words >= arena.base) & (words < arena.base + arena.size)
        numbers = np.where(is_address, 0, words).tobytes() + packed[8 * len(words) :]
        key = (kernel.module.text_digest, kernel.name, shape, numbers)  # each GPU has a module of its own
        addresses = words[is_address].tolist()
        known = self._works.get(key)
        if known is None:
            self.device.touched.cuts = sorted(set(addresses))
            run = kernel.observe(shape, packed)
            touched = [
                (addresses.index(cut), low - cut, high - cut, writes)
                for cut, low, high, writes in self.device.touched.spans
            ]
            faults = tuple(each for each in run.findings if fault_status(each) is not None)
            if faults:  # the others are the sanitizer's to look for: it is told of what the host writes
                raise KernelFault(faults, kernel.module.source_of(faults))
            if len(self._works) >= _KEPT:
                self._works.clear()
            known = self._works[key] = kernel_work(run, self.device.model), touched, run.counters
            self._counted += 1
        else:
            kernel.launch(shape, packed)
            self._reused += 1
        work, touched, counts = known
        touches = [Touch(addresses[k] + low, addresses[k] + high, writes) for k, low, high, writes in touched]
        with self._lock:
            self.timeline.launch(kernel.title, work, stream, device=device, touches=touches)
        return counts

    # -- the rest -----------------------------------------------------------------------------------------------------
    def copy(
        self, nbytes: int, kind: int, stream: int, *, pageable: bool, waits: bool, to: int, origin: int,
        link: tuple[int, int] = (0, 0), direct: bool = True,
    ) -> None:  # fmt: skip
        """`link`: the GPUs that the bytes come from and go to; `direct`: one of these may use the other's memory."""
        sides = [Touch(to, to + nbytes, True), Touch(origin, origin + nbytes, False)] if to and origin else []
        with self._lock:
            if kind == TO_PEER:
                self.timeline.copy_to_peer(
                    nbytes, stream, origin=link[0], to=link[1], direct=direct, touches=sides
                )  # fmt: skip
                return
            self.timeline.copy(
                nbytes, kind, stream, pageable=pageable, waits=waits, touches=sides, device=link[1]
            )  # fmt: skip

    def add_stream(self, stream: int, flags: int, priority: int, device: int) -> None:
        with self._lock:
            self.timeline.add_stream(stream, blocking=not flags & _NON_BLOCKING, priority=priority, device=device)

    def fill(self, nbytes: int, stream: int, to: int, device: int) -> None:
        with self._lock:
            self.timeline.fill(nbytes, stream, device=device, touches=[Touch(to, to + nbytes, True)] if to else [])

    def host_function(self, stream: int) -> None:
        with self._lock:
            self.timeline.host_function(stream)

    def spent(self, call: int) -> None:
        to = self.timeline
        calls = {_ALLOCATE: to.allocated, _FREE: to.freed, _QUEUED: to.queued, _MANAGED: to.allocated_managed}
        with self._lock:
            calls[call]()

    def record(self, event: int, stream: int) -> None:
        with self._lock:
            self.timeline.record(event, stream)

    def follow(self, stream: int, event: int) -> None:
        with self._lock:
            self.timeline.follow(stream, event)

    def wait(self, what: int, number: int) -> None:
        """The host waits."""
        with self._lock:
            if what in (_DEVICE, WAITED_FREE):
                self.timeline.wait_for_all(number)
            elif what == _STREAM:
                self.timeline.wait_for_stream(number)
            else:
                self.timeline.wait_for_event(number)

    def is_done(self, what: int, number: int) -> int:
        with self._lock:
            return int(self.timeline.is_done(number) if what == _STREAM else self.timeline.has_happened(number))

    def elapsed_ms(self, start: int, end: int) -> float:
        with self._lock:
            elapsed = self.timeline.elapsed_ms(start, end)
        return math.nan if elapsed is None else elapsed

    def graph_call(self, call: GraphCall, nodes: int) -> None:
        with self._lock:
            self.timeline.graph_call(call, nodes)

    def begin_graph(self, stream: int, nodes: int) -> None:
        with self._lock:
            self.timeline.begin_graph(stream, nodes)

    def node(self, node: int, after: Any, count: int) -> None:
        with self._lock:
            self.timeline.node(node, after[:count])

    def end_graph(self) -> None:
        with self._lock:
            self.timeline.end_graph()

    def now_us(self) -> float:
        return self.timeline.now_us

    # -- at the end ---------------------------------------------------------------------------------------------------
    def finished(self) -> Totals:
        """The program has ended."""
        self.timeline.finish()
        return totals(self.timeline)

    def report(self) -> dict[str, Any]:
        """What there is to show of it."""
        return report(self.timeline, counted=self._counted, reused=self._reused)
