"""Under the sanitizer: work of different streams, or of one and the host, that uses the same bytes in no order.

All work is done when it is given, so a program never meets a wrong result here; who comes before whom is kept in clocks
(stream_clocks.py), what each piece uses byte by byte: of copies and fills by their arguments, of kernels by the race
detector's shadow. The host's own accesses to pinned and managed memory come as faults of pages that are guarded while
work which it has not waited for uses them (runtime/guarded_pages.c).
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gridstride.programs.order.order_messages import StreamAccess, between_streams, by_the_host, of_a_gone_frame
from gridstride.programs.order.stream_clocks import DEFAULTS, Moment, StreamClocks
from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_EVENT, WAITED_STREAM, CopyCall
from gridstride.programs.timeline.model import TO_PEER
from gridstride.protocol import Shape
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.machine.memory.footprint import NOWHERE, Footprint, Spans

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU
    from gridstride.virtual.launch.virtual_kernel import VirtualKernel

MODELS_ORDER = 3
"""As runtime.h has it."""
_OPEN = 512
"""Pieces of work that a new one is held against, at most."""
_MOST_SPANS = 1 << 20
"""Of one piece: what is scattered more is not remembered."""
_MOST_GUARDED = 512
"""Ranges of pages."""
_PAGE = 4096


class ByteUse(NamedTuple):
    """Bytes that a piece of work uses. `strong`: in a way that is made for memory which others change meanwhile.
    `some`: not all of them, and which is not known; only who writes so many as there are (`some`) surely meets it.
    """

    spans: Spans
    writes: bool
    strong: bool = False
    some: int = 0


class GuardedRange(NamedTuple):
    """Whole pages, and whether the host may read them."""

    start: int
    end: int
    readable: int


@dataclass(slots=True, eq=False)
class StreamWork:
    """Work that a stream was given."""

    access: StreamAccess
    moment: Moment
    uses: list[ByteUse]
    sites: Sequence[Any] = ()
    guards: tuple[GuardedRange, ...] = ()
    """Pages that the host must not use until it has waited."""
    told: bool = False
    """Whether the host's use of its bytes was a finding: one is enough."""


class HostMemory(Protocol):
    """What C does for the order."""

    def guard(self, ranges: Sequence[GuardedRange]) -> None:
        """The host's accesses to these pages are told of, and to no others."""
        ...

    def call(self) -> tuple[str, int]:
        """The runtime's function that the program is in, and where it returns to."""
        ...


@dataclass(slots=True)
class _Visible:
    """Memory that the host uses by itself: its allocations, by address."""

    ranges: dict[int, int] = field(default_factory=dict)

    def pages(self, spans: Spans) -> Iterator[tuple[int, int]]:
        """Of the pages that such memory has to itself those that the spans cover, as far as it reaches."""
        lowest, highest = int(spans.start[0]), int(spans.end[-1])
        for start, nbytes in self.ranges.items():
            end = start + nbytes
            if end <= lowest or highest <= start:
                continue
            inside = (spans.end > start) & (spans.start < end)
            for low, high in zip(spans.start[inside].tolist(), spans.end[inside].tolist(), strict=True):
                first = start if low <= start else -(-low // _PAGE) * _PAGE
                last = -(-end // _PAGE) * _PAGE if high >= end else high // _PAGE * _PAGE
                if first < last:
                    yield first, last


class StreamOrder:
    """Its methods are the calls of TIMELINE_CALLBACKS, as C makes them, and the board's. From any thread."""

    def __init__(self, device: VirtualGPU, report: Callable[[KernelFinding], object], host: HostMemory) -> None:
        self._device, self._report, self._host = device, report, host
        self._lock = threading.RLock()
        self._clocks = StreamClocks()
        self._open: list[StreamWork] = []
        self._visible = _Visible()
        self._labels: dict[int, str] = {}
        self._of_threads: dict[tuple[int, int], int] = {}
        self._rows: list[ByteUse] = []
        self._streams_made = self._busy = 0
        self._views: list[Moment] = []
        """Of functions of the host that run as work of a stream: what they know."""
        self._times: dict[int, float] = {}
        self._asked_for: set[tuple[int, int]] = set()

    # -- memory -------------------------------------------------------------------------------------------------------
    def allocated(self, address: int, nbytes: int, visible: bool) -> None:
        """Memory is given to somebody: what used these bytes before has ended, or has been told of."""
        with self._lock:
            for piece in self._open:
                piece.uses = [use._replace(spans=use.spans.without(address, address + nbytes)) for use in piece.uses]
                piece.uses = [use for use in piece.uses if len(use.spans)]
            if visible:
                self._visible.ranges[address] = nbytes

    def freed(self, address: int) -> None:
        with self._lock:
            nbytes = self._visible.ranges.pop(address, None)
            if nbytes is not None:
                for piece in self._open:
                    piece.guards = tuple(each for each in piece.guards if not address <= each.start < address + nbytes)
                self._guard()

    def pool_memory(self, stream: int, address: int, nbytes: int, given: int) -> None:
        """Whoever uses the memory comes behind its being given and before its being given back."""
        verb = "is given" if given else "gives back"
        self._add(stream, "", [ByteUse(Spans.of(address, nbytes), writes=True)], verb=verb)

    # -- work ---------------------------------------------------------------------------------------------------------
    def using(self, change: int) -> None:
        """Work begins or ends (1, -1): nothing is guarded meanwhile, for it uses the memory itself."""
        with self._lock:
            self._busy += change
            if self._busy == (1 if change > 0 else 0):
                self._guard()

    def launch(self, kernel: VirtualKernel, shape: Shape, packed: bytes, stream: int) -> None:
        """Runs a kernel as work of a stream; KernelFault, LaunchError."""
        device = self._device
        self.using(1)
        kept, device.footprints = device.footprints, []
        try:
            kernel.launch(shape, packed)
        finally:
            prints, device.footprints = device.footprints, kept
            with self._lock:
                uses = [*_of_kernel(prints), *_of_constants(kernel, shape), *self._of_images(packed)]
                sites = prints[0].sites if len(prints) == 1 else ()
                self._add(stream, kernel.title, uses, sites=sites)
            self.using(-1)

    def rows(self, start: int, width: int, pitch: int, rows: int, writes: int) -> None:
        """Of the next copy or fill: bytes that do not lie together."""
        with self._lock:
            self._rows.append(ByteUse(Spans.rows(start, width, pitch, rows), bool(writes)))

    def copy(self, call: CopyCall) -> None:
        sides = []
        if call.to and call.origin:
            sides = [
                ByteUse(Spans.of(call.to, call.nbytes), writes=True),
                ByteUse(Spans.of(call.origin, call.nbytes), False),
            ]
        with self._lock:
            both = call.kind == TO_PEER and call.stream < DEFAULTS
            piece = self._add(call.stream, "", [*sides, *self._rows],
                              behind=(call.from_device, call.to_device) if both else ())  # fmt: skip
            self._rows = []
            if call.waits or call.pageable:
                self._wait(lambda: self._clocks.wait_for(piece.moment))

    def fill(self, nbytes: int, stream: int, to: int, device: int) -> None:
        with self._lock:
            self._add(stream, "", [ByteUse(Spans.of(to, nbytes), writes=True)] if to else self._rows)
            self._rows = []

    def host_function(self, stream: int) -> None:
        """A function of the host begins as work of a stream: until `host_returned` the host is what that knows."""
        with self._lock:
            self._views.append(self._clocks.work(self._own(stream)))
            self._guard()

    def host_returned(self) -> None:
        with self._lock:
            self._views.pop()
            self._guard()

    def gone_frame(self, _address: int, nbytes: int) -> None:
        """A graph's copy uses a place of the stack that belongs to no function any more."""
        self._report(of_a_gone_frame(self._access("", 0), nbytes))

    def _add(
        self, stream: int, kernel: str, uses: Iterable[ByteUse], *, verb: str = "", sites: Sequence[Any] = (),
        behind: Sequence[int] = (),
    ) -> StreamWork:  # fmt: skip
        with self._lock:
            stream = self._own(stream)
            piece = StreamWork(self._access(kernel, stream, verb), self._clocks.work(stream, behind=behind),
                          [use for use in uses if 0 < len(use.spans) <= _MOST_SPANS], sites)  # fmt: skip
            for other in self._open:
                if other.uses and not piece.moment.knows(other.moment):
                    self._compare(other, piece)
            if piece.uses:
                self._open = [*self._open[-_OPEN + 1 :], piece]
                piece.guards = tuple(
                    GuardedRange(first, last, int(not use.writes))
                    for use in sorted(piece.uses, key=lambda use: use.writes)
                    for first, last in self._visible.pages(use.spans)
                )
            return piece

    def _access(self, kernel: str, stream: int, verb: str = "") -> StreamAccess:
        function, site = self._host.call()
        return StreamAccess(kernel, function, site, self._labels.get(stream, "the default stream"), verb)

    def _own(self, stream: int) -> int:
        """The number that a stream goes by here: each thread's default stream by one of its own, which is negative."""
        if stream >= DEFAULTS or stream % 2:
            return stream
        key = stream, threading.get_ident()
        if key not in self._of_threads:
            own = self._of_threads[key] = -2 * (len(self._of_threads) + 1)
            self._labels[own] = "a thread's default stream"
            self._clocks.add_stream(own, apart=False, device=(stream - 2) // 2)
        return self._of_threads[key]

    def _compare(self, first: StreamWork, second: StreamWork) -> None:
        for a in first.uses:
            for b in second.uses:
                if not (a.writes or b.writes) or (a.strong and b.strong):
                    continue
                common = a.spans.overlap(b.spans)
                if common is None:
                    continue
                address, nbytes, one, other = common
                if nbytes < max(a.some, b.some):
                    continue
                sides = (first.access.at(_line(first, one), a.writes), second.access.at(_line(second, other), b.writes))
                same_graph = first.moment.launch != 0 and first.moment.launch == second.moment.launch
                self._report(between_streams(*sides, address=address, nbytes=nbytes, same_graph=same_graph))
                return

    def _of_images(self, packed: bytes) -> Iterator[ByteUse]:
        """Images that a kernel is given objects of: it reads some of their texels."""
        for address, nbytes, texels in self._device.objects.images_in(packed):
            yield ByteUse(Spans.of(address, nbytes), writes=False, some=texels)

    # -- streams, events and graphs -----------------------------------------------------------------------------------
    def add_stream(self, stream: int, flags: int, _priority: int, device: int) -> None:
        with self._lock:
            self._streams_made += 1
            self._labels[stream] = f"stream {self._streams_made}"
            self._clocks.add_stream(stream, apart=bool(flags & NON_BLOCKING), device=device)

    def record(self, event: int, stream: int) -> None:
        with self._lock:
            self._times[event] = time.perf_counter()
            self._clocks.record(event, self._own(stream))

    def follow(self, stream: int, event: int) -> None:
        with self._lock:
            self._clocks.follow(self._own(stream), event)

    def begin_graph(self, stream: int, _nodes: int) -> None:
        with self._lock:
            self._clocks.begin_graph(self._own(stream))

    def node(self, node: int, after: Any, count: int) -> None:
        with self._lock:
            self._clocks.node(node, after[:count])

    def end_graph(self) -> None:
        with self._lock:
            self._clocks.end_graph()

    # -- the host -----------------------------------------------------------------------------------------------------
    def waited(self, what: int, number: int) -> None:
        """The host waits, for a device where it is for neither a stream nor an event."""
        waits = {WAITED_STREAM: self._clocks.wait_for_stream, WAITED_EVENT: self._clocks.wait_for_event}
        with self._lock:
            number = self._own(number) if what == WAITED_STREAM else number
            self._wait(lambda: waits.get(what, self._clocks.wait_for_device)(number))

    def _wait(self, wait: Callable[[], None]) -> None:
        wait()
        host = self._as_host()
        self._open = [piece for piece in self._open if not host.knows(piece.moment)]
        self._guard()

    def _as_host(self) -> Moment:
        return self._views[-1] if self._views else Moment(0, 0, self._clocks.host)

    def is_done(self, what: int, number: int) -> int:
        """Not yet, where one asks for the first time; asking again counts as waiting: somebody may ask until it is."""
        with self._lock:
            clocks, number = self._clocks, self._own(number) if what == WAITED_STREAM else number
            outstanding = clocks.is_outstanding(number) if what == WAITED_STREAM else clocks.is_unknown(number)
            if outstanding and (what, number) not in self._asked_for:
                self._asked_for.add((what, number))
                return 0
            self._asked_for.discard((what, number))
            return 1

    def touched(self, address: int, writes: int, frames: Any, count: int) -> None:
        """The host reads or writes a guarded byte; `frames`: from the instruction outwards."""
        stack = list(frames[:count])
        with self._lock:
            host = self._as_host()
            for piece in [piece for piece in self._open if not piece.told and not host.knows(piece.moment)]:
                met = [use for use in piece.uses if (use.writes or writes) and _place(use.spans, address) >= 0]
                if any(_is_flag(piece, use, address) for use in met):
                    self._wait(lambda piece=piece: self._clocks.wait_for(piece.moment))  # type: ignore[misc]
                elif met:
                    piece.told = True
                    self._report(by_the_host(piece.access.at(_line(piece, NOWHERE), met[0].writes), stack,
                                             writes=bool(writes), address=address))  # fmt: skip
            self._guard()

    def _guard(self) -> None:
        """What the host must not use now; nothing while work is under way, but for a host function's."""
        ranges: list[GuardedRange] = []
        if self._busy == 0:
            host = self._as_host()
            for piece in self._open:
                if piece.guards and not piece.told and not host.knows(piece.moment):
                    ranges += piece.guards
            ranges.sort(key=lambda each: -each.readable)  # what is written may not even be read
        self._host.guard(ranges[-_MOST_GUARDED:])

    # -- times, by this machine's clock -------------------------------------------------------------------------------
    def elapsed_ms(self, start: int, end: int) -> float:
        with self._lock:
            if start not in self._times or end not in self._times:
                return math.nan
            return 1e3 * (self._times[end] - self._times[start])

    def now_us(self) -> float:
        return 1e6 * time.perf_counter()

    def spent(self, _call: int) -> None:
        """What calls cost the host is the timeline's."""


def _of_kernel(prints: Sequence[Footprint]) -> Iterator[ByteUse]:
    """Of a launch and of the grids that it launched itself."""
    for each in prints:
        yield from (
            ByteUse(each.read, writes=False), ByteUse(each.strongly_read, writes=False, strong=True),
            ByteUse(each.written, writes=True), ByteUse(each.strongly_written, writes=True, strong=True),
        )  # fmt: skip


def _of_constants(kernel: VirtualKernel, shape: Shape) -> Iterator[ByteUse]:
    """Constant variables that its code names: it may read any of their bytes."""
    for address, nbytes in kernel.constants(shape.block):
        yield ByteUse(Spans.of(address, nbytes), writes=False)


def _line(piece: StreamWork, site: int) -> tuple[str, int] | None:
    """Of an instruction, where it is known."""
    if not 0 <= site < len(piece.sites):
        return None
    known = piece.sites[site]
    return (known.file, known.line) if known.file and known.line else None


def _place(spans: Spans, address: int) -> int:
    """Which of them holds a byte; -1 for none."""
    at = int(spans.start.searchsorted(address, "right")) - 1
    return at if at >= 0 and address < int(spans.end[at]) else -1


def _is_flag(piece: StreamWork, use: ByteUse, address: int) -> bool:
    """Whether a kernel and the host tell each other something there: a volatile access, or one of the whole system.
    An atomic without _system orders nothing for the host.
    """
    site = int(use.spans.site[_place(use.spans, address)])
    if not use.strong or not 0 <= site < len(piece.sites):
        return False
    name = piece.sites[site].name
    return ".sys" in name or not name.startswith(("atom", "red"))


class RuntimeHost:
    """HostMemory by our libcudart."""

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self._guard, self._call = runtime.gs_guard, runtime.gs_current_call
        self._guard.restype = self._call.restype = None
        self._guarded: tuple[GuardedRange, ...] = ()

    def guard(self, ranges: Sequence[GuardedRange]) -> None:
        if self._guarded == (given := tuple(ranges)):
            return
        self._guarded = given
        words = (ctypes.c_uint64 * (3 * len(given)))(*(word for each in given for word in each))
        self._guard(words, ctypes.c_int64(len(given)))

    def call(self) -> tuple[str, int]:
        name, site = ctypes.c_char_p(), ctypes.c_void_p()
        self._call(ctypes.byref(name), ctypes.byref(site))
        return (name.value or b"").decode(), site.value or 0
