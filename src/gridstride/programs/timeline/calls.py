"""What our libcudart tells the timeline, as C passes it; and the time of each kernel, counted once and kept."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gridstride.programs.calls.graph_calls import GraphCall
from gridstride.programs.calls.peers import NOWHERE, Elsewhere
from gridstride.programs.calls.status import fault_status
from gridstride.programs.timeline.durations import Work, kernel_work
from gridstride.programs.timeline.model import TO_PEER, Timeline
from gridstride.programs.timeline.order import Touch
from gridstride.programs.timeline.summary import report, totals
from gridstride.programs.timeline.totals import Totals
from gridstride.protocol import Shape
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel
from gridstride.virtual.machine.memory.touched import SECTOR, SectorSpan
from gridstride.virtual.observe.line_counters import LineCounters

if TYPE_CHECKING:
    from gridstride.programs.calls.launch_pictures import LaunchPictures

NON_BLOCKING = 1
"""cudaStreamNonBlocking."""
WAITED_DEVICE, WAITED_STREAM, WAITED_EVENT, WAITED_FREE = range(4)
"""WAITED_ of runtime.h."""
_ALLOCATE, _FREE, _QUEUED, _MANAGED = range(4)
"""SPENT_ of runtime.h."""
_KEPT = 4096
Crossing = Mapping[tuple[int, int], int]
"""Bytes from one GPU to another."""


class CopyCall(NamedTuple):  # a program may make a million: a dataclass takes four times as long
    """A copy as libcudart tells of it, in the order of the callback's words; an address is 0 where the bytes are not in
    one piece. `kind` is a cudaMemcpyKind, the devices are those that the bytes go to and come from.
    """

    nbytes: int
    kind: int
    stream: int
    pageable: int
    waits: int
    to: int
    origin: int
    to_device: int
    from_device: int


@dataclass(frozen=True, slots=True)
class _Part:
    """Bytes that a kernel touches: the first, the one behind the last, and how many of them, in whole sectors.

    They are counted from one of the addresses that it is given; from 0 where it found the address by itself, which is
    looked at in other GPUs' memory only. From `first` to before `last` it touches bytes beyond doubt: of the sectors at
    both ends it may leave some to others.
    """

    argument: int | None
    low: int
    first: int
    last: int
    way: str
    nbytes: int


@dataclass(frozen=True, slots=True)
class _Known:
    """A launch that was counted."""

    work: Work
    parts: Sequence[_Part]
    counts: LineCounters

    def touches(self, addresses: Sequence[int]) -> list[Touch]:
        """Of a launch that is given these addresses."""
        return [
            Touch(addresses[part.argument] + part.first, addresses[part.argument] + part.last, part.way != "read")
            for part in self.parts if part.argument is not None
        ]  # fmt: skip

    def crossing(self, addresses: Sequence[int], device: int, elsewhere: Elsewhere) -> Crossing:
        """What crosses to other GPUs and from them, each sector once: as if L1 kept what has been read."""
        nbytes_by_link: Counter[tuple[int, int]] = Counter()
        for part in self.parts:
            owner = elsewhere.owner(part.low + (0 if part.argument is None else addresses[part.argument]))
            if owner is not None and part.way != "atomic":  # an atomic is a read and a write already
                nbytes_by_link[(owner, device) if part.way == "read" else (device, owner)] += part.nbytes
        return dict(nbytes_by_link)


class TimelineCalls:
    """Callbacks of `Board` in runtime.h, from any thread of the program's."""

    def __init__(self, device: VirtualGPU, devices: int = 1) -> None:
        self.device = device
        self.timeline = Timeline(device.model, devices)
        self._lock = threading.RLock()
        self._works: dict[tuple[object, ...], _Known] = {}
        self._counted = self._reused = 0
        self.pictures: LaunchPictures | None = None

    # -- kernels ------------------------------------------------------------------------------------------------------
    def launch(
        self, kernel: VirtualKernel, shape: Shape, packed: bytes, stream: int, device: int = 0,
        elsewhere: Elsewhere = NOWHERE,
    ) -> tuple[LineCounters, Crossing]:  # fmt: skip
        """Runs it; gives its counts, and the bytes that cross to and from `elsewhere`. They are counted the first time
        that it is launched in this shape with these numbers; addresses may differ. Later ones take the same time, have
        the same counts and run on the fast build, unless it finds addresses in other GPUs' memory by itself.
        """
        words = np.frombuffer(packed, "<u8", len(packed) // 8)
        arena = self.device.arena
        is_address = (words >= arena.base) & (words < arena.base + arena.size)
        numbers = np.where(is_address, 0, words).tobytes() + packed[8 * len(words) :]
        key = (kernel.module.text_digest, kernel.name, shape, numbers)  # each GPU has a module of its own
        addresses = words[is_address].tolist()
        counted = self._works.get(key)
        if counted is None:
            counted = self._count(kernel, shape, packed, addresses, elsewhere)
            if all(part.argument is not None for part in counted.parts):
                if len(self._works) >= _KEPT:
                    self._works.clear()
                self._works[key] = counted
            self._counted += 1
        else:
            kernel.launch(shape, packed)
            self._reused += 1
        crossing = counted.crossing(addresses, device, elsewhere)
        if self.pictures is not None:
            self.pictures.took(kernel, shape, counted.work.us)
        with self._lock:
            self.timeline.launch(kernel.title, counted.work, stream, device=device, touches=counted.touches(addresses),
                                 crossing=crossing)  # fmt: skip
        return counted.counts, crossing

    def _count(
        self, kernel: VirtualKernel, shape: Shape, packed: bytes, addresses: Sequence[int], elsewhere: Elsewhere
    ) -> _Known:  # fmt: skip
        """Runs it with counters; KernelFault."""
        if self.pictures is not None:
            self.pictures.before(kernel, shape, packed)
        touched = self.device.touched
        touched.cuts = sorted({*addresses, *elsewhere.starts})
        run = kernel.observe(shape, packed)
        faults = tuple(finding for finding in run.findings if fault_status(finding) is not None)
        if faults:  # the others are the sanitizer's to look for: it is told of what the host writes
            raise KernelFault(faults, kernel.module.source_of(faults))
        if self.pictures is not None:
            self.pictures.counted(kernel, shape, run)
        parts = []
        for span in touched.spans:
            argument = addresses.index(span.cut) if span.cut in addresses else None
            start = 0 if argument is None else span.cut
            first, last = _beyond_doubt(span)
            parts.append(_Part(argument, span.first - start, first - start, last - start, span.way, span.nbytes))
        return _Known(kernel_work(run, self.device.model), parts, run.counters)

    # -- the rest -----------------------------------------------------------------------------------------------------
    def copy(self, call: CopyCall, *, direct: bool = True) -> None:
        """`direct`: one of the two GPUs may use the other's memory."""
        nbytes, to, origin = call.nbytes, call.to, call.origin
        sides = [Touch(to, to + nbytes, True), Touch(origin, origin + nbytes, False)] if to and origin else []
        with self._lock:
            if call.kind == TO_PEER:
                self.timeline.copy_to_peer(
                    nbytes, call.stream, origin=call.from_device, to=call.to_device, direct=direct, touches=sides
                )
                return
            self.timeline.copy(
                nbytes, call.kind, call.stream, pageable=bool(call.pageable), waits=bool(call.waits), touches=sides,
                device=call.to_device,
            )  # fmt: skip

    def add_stream(self, stream: int, flags: int, priority: int, device: int) -> None:
        with self._lock:
            self.timeline.add_stream(stream, blocking=not flags & NON_BLOCKING, priority=priority, device=device)

    def fill(self, nbytes: int, stream: int, to: int, device: int) -> None:
        with self._lock:
            self.timeline.fill(nbytes, stream, device=device, touches=[Touch(to, to + nbytes, True)] if to else [])

    def host_function(self, stream: int) -> None:
        with self._lock:
            self.timeline.host_function(stream)

    def allocated(self, address: int, nbytes: int, _visible: bool = False) -> None:
        """Of any kind; where it lies others may have been."""
        with self._lock:
            self.timeline.order.given_anew(address, address + nbytes)

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

    def pool_memory(self, stream: int, address: int, nbytes: int, memory: int) -> None:
        with self._lock:
            self.timeline.pool_memory(stream, Touch(address, address + nbytes, True), allocated=bool(memory))

    def wait(self, what: int, number: int) -> None:
        """The host waits."""
        with self._lock:
            if what in (WAITED_DEVICE, WAITED_FREE):
                self.timeline.wait_for_all(number)
            elif what == WAITED_STREAM:
                self.timeline.wait_for_stream(number)
            else:
                self.timeline.wait_for_event(number)

    def is_done(self, what: int, number: int) -> int:
        with self._lock:
            return int(self.timeline.is_done(number) if what == WAITED_STREAM else self.timeline.has_happened(number))

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


def _beyond_doubt(span: SectorSpan) -> tuple[int, int]:
    """Of a span in whole sectors, the bytes from the first one known to be touched to before the one behind the last.

    Whoever is given the address of a sector's middle is taken to begin there; of another first sector, and of the last
    one, a byte is touched, and which is not known. Empty where all is one such sector.
    """
    first = span.cut if span.first <= span.cut else span.first + SECTOR - 1
    return first, max((span.end - 1) // SECTOR * SECTOR, first if first == span.cut else 0) + 1
