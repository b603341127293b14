"""The modelled timeline of one program: a clock for the host, one for each stream, and the calls that move them.

The host's clock moves with the calls of the runtime and when the host waits; what the program computes on the host
takes no time. Work begins `begin_us` after its call at the earliest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from gridstride.programs.calls.graph_calls import GraphCall
from gridstride.programs.timeline.durations import Work, host_us, link_us, memory_work, over_links, peer_us
from gridstride.programs.timeline.order import Order, Touch
from gridstride.programs.timeline.schedule import Engine, Operation, Schedule, Way
from gridstride.virtual.chips import Chip
from gridstride.virtual.machine.memory.owners import HOST

LEGACY = 1
"""The number of the legacy default stream of GPU 0, as cudaStreamLegacy has it; of GPU d it is 2d more."""
_OF_THREADS = 2
"""cudaStreamPerThread, the same way."""
HOST_TO_HOST, TO_DEVICE, TO_HOST, WITHIN = range(4)
"""cudaMemcpyKind."""
TO_PEER = 5
"""COPY_TO_PEER of runtime.h."""
_NOTHING: Mapping[tuple[int, int], int] = MappingProxyType({})
_COPIES = {TO_DEVICE: ("copy to device", Engine.TO_DEVICE), TO_HOST: ("copy to host", Engine.TO_HOST)}


@dataclass(slots=True)
class _Stream:
    """`blocking`: it and the legacy default stream of its GPU wait for each other."""

    number: int
    device: int = 0
    blocking: bool = True
    priority: int = 0
    last: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class _Graph:
    """One that is being launched, or a child of it. `ends`: what comes last of each node."""

    stream: _Stream
    before: list[Operation]
    launch: int
    now: list[Operation] = field(default_factory=list)
    node: int = 0
    ends: dict[int, list[Operation]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Task:
    """Work before it has its place: `us` on its engine, its demand of the chip, `ways` where it takes several."""

    kind: str
    name: str
    engine: Engine
    us: float = 0.0
    nbytes: int = 0
    demand: Mapping[str, float] = field(default_factory=dict)
    touches: Sequence[Touch] = ()
    ways: Sequence[Way] = ()
    crossing: Mapping[tuple[int, int], int] = field(default_factory=dict)


class Timeline:
    """What the runtime tells of, in the order of its calls. Streams and events go by the runtime's own numbers."""

    def __init__(self, chip: Chip, devices: int = 1) -> None:
        self.chip, self.times, self.devices = chip, chip.timeline, devices
        self.now_us = 0.0
        self.waited_us = 0.0
        self.managed_allocations = 0
        self.schedule, self.order = Schedule(), Order()
        self._count = self._graph_launches = 0
        self._legacy = [_Stream(device, device) for device in range(devices)]
        self._streams = {LEGACY + 2 * stream.device: stream for stream in self._legacy}
        self._events: dict[int, Operation] = {}
        self.timed: list[tuple[float, float]] = []
        """From event to event, where the program asked for the time between them and got it."""
        self._graphs: list[_Graph] = []

    # -- streams ------------------------------------------------------------------------------------------------------
    def add_stream(self, stream: int, *, blocking: bool, priority: int, device: int = 0) -> None:
        """A stream that the program has made; it is called by how many there were before it."""
        self._streams[stream] = _Stream(len(self._streams), device, blocking, priority)

    def _stream(self, stream: int) -> _Stream:
        device = (stream - _OF_THREADS) // 2 if stream < _OF_THREADS + 2 * self.devices else 0
        return self._streams.setdefault(stream, _Stream(len(self._streams), device))

    def devices_of_streams(self) -> dict[int, int]:
        """The GPU of each stream, by the number that the stream is called by; the default streams come first."""
        return {stream.number: stream.device for stream in self._streams.values()}

    def _before(self, stream: _Stream) -> list[Operation]:
        """What comes before the stream's next operation."""
        legacy = self._legacy[stream.device]
        if stream is legacy:
            return [
                operation
                for s in self._streams.values()
                if s.blocking and s.device == stream.device
                for operation in s.last
            ]
        return [*stream.last, *(legacy.last if stream.blocking else ())]

    # -- work ---------------------------------------------------------------------------------------------------------
    def launch(
        self, name: str, work: Work, stream: int, *, device: int = 0, touches: Sequence[Touch] = (),
        crossing: Mapping[tuple[int, int], int] = _NOTHING,
    ) -> None:  # fmt: skip
        """A kernel, with its counted or known time; `crossing`: bytes that it sends from one GPU to another."""
        work = over_links(work, crossing, device, self.chip)
        us = work.us
        if self._graphs:  # the next node's launch is known beforehand
            us += self.times["graph_node_us"] - self.chip.prediction["launch_us"]
        self._call("launch_call_us")
        between = {pair: nbytes for pair, nbytes in crossing.items() if HOST not in pair}
        task = _Task("kernel", name, Engine.COMPUTE, us=us, demand=work.demand, touches=touches, crossing=between)
        self._give(task, stream, device)

    def copy(
        self, nbytes: int, kind: int, stream: int, *, pageable: bool, waits: bool, touches: Sequence[Touch] = (),
        device: int = 0,
    ) -> None:  # fmt: skip
        """A copy that `device` has a part in; the host waits if it asked for that, or if its memory is pageable."""
        self._call("call_us")
        if kind == HOST_TO_HOST:
            us = host_us(nbytes, self.chip)
            task = _Task("copy within host", "", Engine.HOST, us=us, nbytes=nbytes, touches=touches)
        elif kind == WITHIN:
            work = memory_work(2 * nbytes, self.chip)
            task = _Task("copy within device", "", Engine.COMPUTE, us=work.us, demand=work.demand, nbytes=nbytes,
                         touches=touches)  # fmt: skip
            self._give(task, stream, device)
            return
        else:
            name, engine = _COPIES[kind]
            us = link_us(nbytes, self.chip, pageable=pageable)
            memory = "pageable" if pageable else "pinned"
            task = _Task(name, memory, engine, us=us, nbytes=nbytes, touches=touches)
        last = self._give(task, stream, device)
        if waits or pageable:
            self._wait([last])

    def copy_to_peer(
        self, nbytes: int, stream: int, *, origin: int, to: int, direct: bool, touches: Sequence[Touch] = ()
    ) -> None:  # fmt: skip
        """A copy from one GPU to another; `direct`: one of them may use the other's memory.

        In a default stream it comes after all that both GPUs were given before, and before what they are given next.
        """
        self._call("call_us")
        is_default = not self._graphs and any(self._stream(stream) is legacy_stream for legacy_stream in self._legacy)
        legacy_streams = (self._legacy[origin], self._legacy[to]) if is_default else ()
        earlier = [operation for legacy in legacy_streams for operation in self._before(legacy)]
        over_nvlink = direct and self.times["nvlinks"] > 0
        out, into = ("nvlink out", "nvlink in") if over_nvlink else (Engine.TO_HOST, Engine.TO_DEVICE)
        task = _Task("copy to peer", f"GPU {to}" + ("" if direct else " through the host"), Engine.TO_PEER,
                     us=peer_us(nbytes, self.chip, direct=direct), nbytes=nbytes, touches=touches,
                     ways=(Way(origin, out), Way(to, into)), crossing={(origin, to): nbytes})  # fmt: skip
        copy = self._give(task, stream, origin, also=earlier)
        for legacy in legacy_streams:
            legacy.last = [copy]

    def fill(self, nbytes: int, stream: int, *, device: int = 0, touches: Sequence[Touch] = ()) -> None:
        """cudaMemset."""
        self._call("call_us")
        work = memory_work(nbytes, self.chip)
        task = _Task("fill", "", Engine.COMPUTE, us=work.us, demand=work.demand, nbytes=nbytes, touches=touches)
        self._give(task, stream, device)

    def host_function(self, stream: int) -> None:
        """A function of the host in a stream: its way there and back, as what it does takes no time here."""
        self._call("call_us")
        self._give(_Task("host function", "", Engine.HOST, us=self.times["callback_us"]), stream)

    def record(self, event: int, stream: int) -> None:
        """An event: a moment in its stream."""
        self._call("call_us")
        self._events[event] = self._give(_Task("event", "", Engine.NONE), stream)

    def follow(self, stream: int, event: int) -> None:
        """cudaStreamWaitEvent; an event that was never recorded is not waited for."""
        self._call("call_us")
        if event in self._events:
            self._give(_Task("wait", "", Engine.NONE), stream, also=[self._events[event]])

    def pool_memory(self, stream: int, memory: Touch, *, allocated: bool) -> None:
        """cudaMallocAsync and cudaFreeAsync: whoever uses the memory comes behind the one and before the other."""
        kind = "pool allocation" if allocated else "pool release"
        self._give(_Task(kind, "", Engine.NONE, touches=[memory]), stream)

    def allocated(self) -> None:
        """cudaMalloc and its like."""
        self._call("allocate_us")

    def allocated_managed(self) -> None:
        """cudaMallocManaged: no pages move here, whoever touches them."""
        self.managed_allocations += 1
        self.allocated()

    def freed(self) -> None:
        """cudaFree, which has waited for the device."""
        self._call("free_us")

    def queued(self) -> None:
        """A call that costs the host a little, such as cudaMallocAsync."""
        self._call("call_us")

    def _call(self, name: str) -> None:
        if not self._graphs:  # its nodes are known already
            self.now_us += self.times[name]

    def _give(
        self, task: _Task, stream: int, device: int | None = None, *, also: Iterable[Operation] = ()
    ) -> Operation:  # fmt: skip
        """Puts it behind its stream's last operations, and behind `also`."""
        graph = self._graphs[-1] if self._graphs else None
        queue = graph.stream if graph else self._stream(stream)
        where = queue.device if device is None else device
        ways = task.ways
        if not ways and task.engine not in (Engine.COMPUTE, Engine.NONE):
            ways = (Way(where, task.engine),)
        self._count += 1
        operation = Operation(
            self._count, task.kind, task.name, queue.number, task.engine, self.now_us + self.times["begin_us"],
            task.us, task.nbytes, task.demand, queue.priority, graph.launch if graph else 0, where, ways,
            task.crossing, touches=task.touches,
        )  # fmt: skip
        earlier = [*(graph.now if graph else self._before(queue)), *also]
        self.order.add(operation, earlier)
        self.schedule.add(operation, earlier)
        if graph:
            graph.now = graph.ends[graph.node] = [operation]
        else:
            queue.last = [operation]
        return operation

    # -- graphs -------------------------------------------------------------------------------------------------------
    def graph_call(self, call: GraphCall, nodes: int) -> None:
        """A graph is built or changed, or the node that is next looks at its condition; a launch has its time from
        `begin_graph`.
        """
        if call in ("node added", "node set"):
            self._call("call_us")
        elif call == "instantiated":
            self.now_us += self.times["instantiate_us"] + nodes * self.times["instantiate_node_us"]
        elif call == "updated":
            self.now_us += self.times["call_us"] + nodes * self.times["update_node_us"]
        elif call == "condition":
            graph = self._graphs[-1]
            task = _Task("condition", "", Engine.NONE, us=self.times["condition_us"])
            self._give(task, graph.stream.number)

    def begin_graph(self, stream: int, nodes: int) -> None:
        """A graph is launched; a child's nodes come where its own node is."""
        if self._graphs:
            outer = self._graphs[-1]
            self._graphs.append(_Graph(outer.stream, outer.now, outer.launch))
            return
        self._graph_launches += 1
        self.now_us += self.times["graph_call_us"] + nodes * self.times["graph_node_call_us"]
        queue = self._stream(stream)
        self._graphs.append(_Graph(queue, self._before(queue), self._graph_launches))

    def node(self, node: int, after: Iterable[int]) -> None:
        """What is given next is of this node, which comes after those."""
        graph = self._graphs[-1]
        ends = [operation for number in after for operation in graph.ends.get(number, ())]
        graph.now, graph.node = ends or graph.before, node
        graph.ends[node] = graph.now

    def end_graph(self) -> None:
        """All nodes have been given; the stream goes on when all have ended."""
        graph = self._graphs.pop()
        ends = (
            list({operation.number: operation for last in graph.ends.values() for operation in last}.values())
            or graph.before
        )
        if self._graphs:
            outer = self._graphs[-1]
            outer.now = outer.ends[outer.node] = ends
        else:
            graph.stream.last = ends

    # -- waiting ------------------------------------------------------------------------------------------------------
    def wait_for_all(self, device: int = 0) -> None:
        """cudaDeviceSynchronize."""
        self._wait(
            [operation for stream in self._streams.values() if stream.device == device for operation in stream.last]
        )

    def wait_for_stream(self, stream: int) -> None:
        """cudaStreamSynchronize."""
        self._wait(self._stream(stream).last)

    def wait_for_event(self, event: int) -> None:
        """cudaEventSynchronize."""
        self._wait([self._events[event]] if event in self._events else [])

    def _wait(self, operations: list[Operation]) -> None:
        if self._graphs:
            return
        began = self.now_us
        for operation in operations:
            self.schedule.place(until=operation)
        self.order.host_waited(operations)
        end = max((operation.end_us for operation in operations), default=0.0)
        self.now_us += self.times["call_us"]
        if end > self.now_us:
            self.now_us = end + self.times["wake_us"]
        self.waited_us += self.now_us - began

    def is_done(self, stream: int) -> bool:
        """cudaStreamQuery, at the host's clock."""
        return self._are_done(self._stream(stream).last)

    def has_happened(self, event: int) -> bool:
        """cudaEventQuery; an event that was never recorded has."""
        return self._are_done([self._events[event]] if event in self._events else [])

    def _are_done(self, operations: list[Operation]) -> bool:
        self._call("call_us")
        self.schedule.place(until_us=self.now_us)
        return all(operation.end_us <= self.now_us for operation in operations)

    def elapsed_ms(self, start: int, end: int) -> float | None:
        """Between two recorded events; None where one of them has not happened yet."""
        events = [self._events[start], self._events[end]]
        self.schedule.place(until_us=self.now_us)
        if any(event.end_us > self.now_us for event in events):
            return None
        began, end_us = (event.end_us for event in events)
        self.timed.append((began, end_us))
        return (end_us - began) / 1e3

    def finish(self) -> None:
        """The program has ended: what is still outstanding gets its place."""
        self.schedule.place()
