"""Under the sanitizer: work of different streams, or of one and the host, that uses the same bytes in no order.

All work is done when it is given, so a program never meets a wrong result here; who comes before whom is kept in clocks
(stream_clocks.py), what each piece uses byte by byte: of copies and fills by their arguments, of kernels by the race
detector's shadow. The host's own accesses to pinned and managed memory come as faults of pages that are guarded while
work which it has not waited for uses them (runtime/guarded_pages.c).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gridstride.programs.order.host_memory import GuardedRange, HostMemory, VisibleMemory, guarded
from gridstride.programs.order.order_messages import StreamAccess, between_streams, by_the_host, of_a_gone_frame
from gridstride.programs.order.stream_clocks import DEFAULTS, Moment, StreamClocks
from gridstride.programs.order.stream_values import StreamValues
from gridstride.programs.order.stream_work import (
    NO_KERNEL,
    ByteUse,
    StreamWork,
    WatchedCode,
    meeting,
    use_of,
    uses_of_kernel,
)
from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_EVENT, WAITED_STREAM, CopyCall
from gridstride.programs.timeline.model import TO_PEER, WITHIN
from gridstride.protocol import Shape
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.machine.memory.footprint import NOWHERE, Spans

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU
    from gridstride.virtual.launch.virtual_kernel import VirtualKernel

MODELS_ORDER = 3
"""As runtime.h has it."""
_OPEN = 512
"""Pieces of work that a new one is held against, at most."""
_MOST_SPANS = 1 << 20
"""Of one piece: what is scattered more is not remembered."""
_FILLS_THAT_WAIT = ("cudaMemset", "cudaMemset2D", "cudaMemset3D", "cuMemset")
"""Of pinned memory; cuMemset…, but not …Async."""


class StreamOrder:
    """Its methods are the calls of TIMELINE_CALLBACKS, as C makes them, and the board's. From any thread."""

    def __init__(self, device: VirtualGPU, report: Callable[[KernelFinding], object], host: HostMemory) -> None:
        self._device, self._report, self._host = device, report, host
        self._lock = threading.RLock()
        self._clocks = StreamClocks()
        self._values = StreamValues()
        self._open: list[StreamWork] = []
        self._visible = VisibleMemory()
        self._labels: dict[int, str] = {}
        self._of_threads: dict[tuple[int, int], int] = {}
        self._rows: list[ByteUse] = []
        self._streams_made = self._busy = 0
        self._views: list[tuple[Moment, StreamAccess, int]] = []
        """Of functions of the host that run as work of a stream: what they know, and who they are."""
        self._times: dict[int, float] = {}
        self._asked_for: set[tuple[int, int]] = set()

    # -- memory -------------------------------------------------------------------------------------------------------
    def allocated(self, address: int, nbytes: int, visible: bool) -> None:
        """Memory is given to somebody: what used these bytes before has ended, or has been told of."""
        with self._lock:
            for piece in self._open:
                piece.without(address, address + nbytes)
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
        self._add(stream, [use_of(Spans.of(address, nbytes), writes=True)], verb=verb)

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
                uses = uses_of_kernel(device, kernel, shape, packed, prints)
                sites = prints[0].sites if len(prints) == 1 else ()
                self._add(stream, uses, code=WatchedCode(kernel.title, sites, kernel.spins(shape.block)))
            self.using(-1)

    def rows(self, start: int, width: int, pitch: int, rows: int, writes: int) -> None:
        """Of the next copy or fill: bytes that do not lie together."""
        with self._lock:
            self._rows.append(use_of(Spans.rows(start, width, pitch, rows), writes=bool(writes)))

    def copy(self, call: CopyCall) -> None:
        """The host waits for none that stays on the device, as CUDA has it."""
        sides = [use_of(Spans.of(at, call.nbytes), writes=at == call.to) for at in (call.to, call.origin) if at]
        with self._lock:
            both = call.kind == TO_PEER and call.stream < DEFAULTS
            piece = self._add(call.stream, [*(sides if call.to and call.origin else ()), *self._rows],
                              behind=(call.from_device, call.to_device) if both else ())  # fmt: skip
            self._rows = []
            if (call.waits or call.pageable) and call.kind != WITHIN:
                self._wait(lambda: self._clocks.wait_for(piece.moment))
            else:
                self._guard()

    def source_read(self) -> None:
        """The last copy has read its source by now: who writes there later comes behind it."""
        with self._lock:
            if self._open:
                self._open[-1].has_read()
                self._guard()

    def fill(self, nbytes: int, stream: int, to: int, device: int) -> None:
        """The host waits for one of pinned memory that is not asynchronous."""
        with self._lock:
            piece = self._add(stream, [use_of(Spans.of(to, nbytes), writes=True)] if to else self._rows)
            self._rows = []
            name = piece.access.function
            if name.startswith(_FILLS_THAT_WAIT) and not name.endswith("Async") and self._visible.holds(to):
                self._wait(lambda: self._clocks.wait_for(piece.moment))
            else:
                self._guard()

    def value_written(self, stream: int, address: int, nbytes: int, value: int) -> None:
        """By the stream itself: a flag for whoever looks at it."""
        with self._lock:
            piece = self._add(stream, [use_of(Spans.of(address, nbytes), writes=True, strong=True)])
            self._values.written(address, value, piece.moment.reached)

    def value_waited(self, stream: int, address: int, nbytes: int, value: int, how: int) -> None:
        """The stream comes behind the first that wrote such a value, or behind kernels that set the flag."""
        with self._lock:
            clock = self._values.waited(address, value, how, nbytes)
            if clock is None:
                clock = {}
                for piece in self._open:
                    met = piece.holding(address, address + nbytes, writes=True)
                    if any(use.writes and use.strong for use in met):
                        clock |= {of: max(n, clock.get(of, 0)) for of, n in piece.moment.reached.items()}
            self._clocks.learn(self._own(stream), clock)

    def host_function(self, stream: int) -> None:
        """A function of the host begins as work of a stream: until `host_returned` the host is what that knows."""
        with self._lock:
            own = self._clocks.stream_of(self._own(stream))
            giver = threading.get_ident() if stream else 0
            self._views.append((self._clocks.work(self._own(stream)), self._access("", own), giver))
            self._guard()

    def host_returned(self) -> None:
        """It may have told a thread of the host's, in ways that nobody sees here: what it knew, the host knows."""
        with self._lock:
            moment, _, _ = self._views.pop()
            self._wait(lambda: self._clocks.wait_for(moment))

    def gone_frame(self, _address: int, nbytes: int) -> None:
        """A graph's copy uses a place of the stack that belongs to no function any more."""
        self._report(of_a_gone_frame(self._access("", 0), nbytes))

    def _add(
        self, stream: int, uses: Iterable[ByteUse], *, code: WatchedCode = NO_KERNEL, verb: str = "",
        behind: Sequence[int] = (),
    ) -> StreamWork:  # fmt: skip
        with self._lock:
            stream = self._own(stream)
            access = self._access(code.title, self._clocks.stream_of(stream), verb)
            kept = [use for use in uses if len(use.spans) <= _MOST_SPANS]
            piece = StreamWork(access, self._clocks.work(stream, behind=behind), kept, code)
            unknown = [other for other in self._open if other.uses and not piece.moment.knows(other.moment)]
            if any(use.strong for use in piece.uses):
                for other in unknown:
                    if piece.hears(other):
                        self._clocks.learn(stream, other.moment.reached, piece.moment)
            for other in unknown:
                if not piece.moment.knows(other.moment):
                    self._compare(other, piece)
            if piece.uses:
                self._open = [*self._open[-_OPEN + 1 :], piece]
                if any(self._is_hidden_flag(piece, use) for use in piece.uses):
                    self._clocks.wait_for(piece.moment)  # the host may look there, and nobody would see it
                piece.guards = tuple(
                    GuardedRange(first, last, int(not use.writes))
                    for use in piece.uses for first, last in self._visible.pages(use.spans)
                )  # fmt: skip
            return piece

    def _is_hidden_flag(self, piece: StreamWork, use: ByteUse) -> bool:
        """Whether it may tell the host something on a page that is not guarded."""
        if not (use.writes and use.strong and self._visible.meets(use.low, use.high)):
            return False
        return piece.is_flag(use, use.low) and not any(True for _ in self._visible.pages(use.spans))

    def _access(self, kernel: str, stream: int, verb: str = "") -> StreamAccess:
        function, stack = self._host.call()
        return StreamAccess(kernel, function, stack, self._labels.get(stream, "the default stream"), verb)

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
        met = meeting(first, second)
        if met is not None:
            one, other = (piece.access.at(piece.line(site), writes) for piece, site, writes in
                          zip((first, second), met.sites, met.write, strict=True))  # fmt: skip
            same_graph = first.moment.launch != 0 and first.moment.launch == second.moment.launch
            self._report(between_streams(one, other, address=met.address, nbytes=met.nbytes, same_graph=same_graph))

    # -- streams, events and graphs -----------------------------------------------------------------------------------
    def add_stream(self, stream: int, flags: int, _priority: int, device: int) -> None:
        with self._lock:
            self._streams_made += 1
            self._labels[stream] = f"stream {self._streams_made}" + f" of GPU {device}" * (device > 0)
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
        host = Moment(0, 0, self._clocks.host)
        self._open = [piece for piece in self._open if not host.knows(piece.moment)]
        self._guard()

    def _as_host(self) -> Moment:
        return self._views[-1][0] if self._views else Moment(0, 0, self._clocks.host)

    def _who_is_here(self) -> tuple[Moment, StreamAccess | None]:
        """What the calling thread knows, and the function of the host that it is in: a stream's has one of its own."""
        if self._views and self._views[-1][2] != threading.get_ident():
            return self._views[-1][:2]
        return Moment(0, 0, self._clocks.host), None

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

    def touched(self, address: int, nbytes: int, writes: int, frames: Any, count: int) -> int:
        """The host reads or writes bytes on guarded pages; `frames`: from the instruction outwards. Whether these were
        bytes that work uses, and what is guarded has changed.
        """
        stack = list(frames[:count])
        with self._lock:
            host, within = self._who_is_here()
            met_any = False
            for piece in [piece for piece in self._open if not piece.told and not host.knows(piece.moment)]:
                met = piece.holding(address, address + nbytes, writes=bool(writes))
                met_any |= bool(met)
                if any(piece.is_flag(use, address) for use in met):
                    self._wait(lambda piece=piece: self._clocks.wait_for(piece.moment))  # type: ignore[misc]
                elif met:
                    piece.told = True
                    access = piece.access.at(piece.line(NOWHERE), met[0].writes)
                    self._report(by_the_host(access, stack, writes=bool(writes), address=address, within=within))
            if met_any:
                self._guard()
            return int(met_any)

    def _guard(self) -> None:
        """What the host must not use now; nothing while work is under way."""
        ranges: list[GuardedRange] = []
        if self._busy == 0:
            host = self._as_host()
            for piece in self._open:
                if piece.guards and not piece.told and not host.knows(piece.moment):
                    ranges += piece.guards
        self._host.guard(guarded(ranges) if ranges else ranges)

    # -- times, by this machine's clock -------------------------------------------------------------------------------
    def elapsed_ms(self, start: int, end: int) -> float:
        """The host knows then that both have happened."""
        with self._lock:
            if start not in self._times or end not in self._times:
                return math.nan
            for event in (start, end):
                self.waited(WAITED_EVENT, event)
            return 1e3 * (self._times[end] - self._times[start])

    def now_us(self) -> float:
        return 1e6 * time.perf_counter()

    def spent(self, _call: int) -> None:
        """What calls cost the host is the timeline's."""
