"""Which pieces of work come before which: by streams, events, graphs and the host's waiting, not by how long they take.

Vector clocks, as in a race detector: a piece of work knows up to which of every stream's pieces all have ended when it
begins. Nodes of a graph that is being launched are one piece of its stream's to everybody else, and know of each other
by the edges between them. Who waits for an event that one of them records knows of the nodes before that one alone;
what one learns that waits for an event, those behind it know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

LEGACY = 1
"""The number of the legacy default stream of GPU 0; of GPU d it is 2d more (gs_stream_number)."""
DEFAULTS = 1 << 12
"""Default streams have numbers below this, others are addresses."""

Clock = dict[int, int]
"""Of streams by number, up to which piece; and of nodes by number, from _NODES on, that they have ended."""
_NODES = 1 << 62
_NODES_KEPT = 1 << 10
_MOST_NODES = 1 << 9
"""Before an event of a graph: behind one with more, all of the graph is taken to have ended."""


@dataclass(slots=True, eq=False)
class Moment:
    """Where a piece of work stands. `launch` is of a graph (0: of none), `bit` its node's there and `node` everywhere,
    `nodes` those before it.
    """

    stream: int
    number: int
    reached: Clock
    launch: int = 0
    bit: int = 0
    nodes: int = 0
    node: int = 0

    def knows(self, other: Moment) -> bool:
        """Whether the other has ended when this begins."""
        if self.launch and self.launch == other.launch:
            return bool(self.nodes & other.bit)
        return self.reached.get(other.stream, 0) >= other.number or (other.node > 0 and other.node in self.reached)


@dataclass(slots=True)
class _Stream:
    """`apart`: the legacy default stream does not wait for it, nor it for that one."""

    device: int
    apart: bool = False
    clock: Clock = field(default_factory=dict)
    """What its next piece knows of, but for what the legacy default stream or the host adds."""


@dataclass(slots=True)
class _Graph:
    """One that is being launched, or a child of it. `now`: nodes before what comes next; `ends`: all, of each node.
    `learnt` and `known` are the same of what nodes learn that wait for events; `inherited`: what a child begins with.
    """

    stream: int
    number: int
    reached: Clock
    launch: int
    before: int
    inherited: Clock = field(default_factory=dict)
    now: int = 0
    learnt: Clock = field(default_factory=dict)
    node: int = 0
    ends: dict[int, int] = field(default_factory=dict)
    known: dict[int, Clock] = field(default_factory=dict)


class StreamClocks:
    """Streams and events go by the runtime's own numbers. Not locked."""

    def __init__(self) -> None:
        self.host: Clock = {}
        """What the host has waited for."""
        self._streams: dict[int, _Stream] = {}
        self._numbers: dict[int, int] = {}
        self._events: dict[int, Clock] = {}
        self._graphs: list[_Graph] = []
        self._launches = self._bits = self._nodes = self._forgotten = 0

    def add_stream(self, stream: int, *, apart: bool, device: int) -> None:
        self._streams[stream] = _Stream(device, apart)

    def work(self, stream: int, *, behind: Iterable[int] = ()) -> Moment:
        """A stream's next piece of work, or a node's of the graph that is being launched; it also comes behind all that
        the default streams of the GPUs `behind` come behind, and these behind it.
        """
        if self._graphs:
            return self._node()
        reached = self._next(stream)
        legacies = [LEGACY + 2 * device for device in behind]
        for legacy in legacies:
            _join(reached, self._next(legacy))
        number = self._numbers[stream] = self._numbers.get(stream, 0) + 1
        reached[stream] = number
        for each in {stream, *legacies}:
            self._stream(each).clock = dict(reached)
        return Moment(stream, number, reached)

    def _node(self) -> Moment:
        graph = self._graphs[-1]
        bit = 1 << self._bits
        self._bits += 1
        reached = _joined(graph.reached, graph.learnt) if graph.learnt else graph.reached
        node = self._first_node + self._bits
        moment = Moment(graph.stream, graph.number, reached, graph.launch, bit, graph.now, node)
        graph.now |= bit
        graph.ends[graph.node] = graph.now
        return moment

    @property
    def _first_node(self) -> int:
        """The number everywhere of the graph's first node is one more."""
        return _NODES + self._nodes

    def _stream(self, number: int) -> _Stream:
        device = (number - LEGACY) // 2 if number < DEFAULTS else 0
        return self._streams.setdefault(number, _Stream(device))

    def _next(self, number: int) -> Clock:
        """What a stream's next piece of work comes behind."""
        stream = self._stream(number)
        reached = dict(self.host)
        _join(reached, stream.clock)
        if number < DEFAULTS and number % 2:
            for other in self._streams.values():
                if other.device == stream.device and not other.apart:
                    _join(reached, other.clock)
        elif not stream.apart:
            _join(reached, self._stream(LEGACY + 2 * stream.device).clock)
        return reached

    def stream_of(self, stream: int) -> int:
        """Whose work is given now: of nodes, the stream of the graph that is launched."""
        return self._graphs[-1].stream if self._graphs else stream

    def learn(self, stream: int, clock: Clock, now: Moment | None = None) -> None:
        """What a stream is given next comes behind others, too, and so does `now`, its last piece."""
        if now is not None:
            now.reached = now.reached | _later(now.reached, clock)
        if self._graphs:
            graph = self._graphs[-1]
            graph.reached = graph.reached | _later(graph.reached, clock)
        else:
            _join(self._stream(stream).clock, clock)

    # -- events and graphs --------------------------------------------------------------------------------------------
    def record(self, event: int, stream: int) -> None:
        """An event stands for all that its stream's next piece would come behind."""
        if self._graphs:
            self._events[event] = self._at_node()
            return
        moment = self.work(stream)
        self._events[event] = moment.reached

    def follow(self, stream: int, event: int) -> None:
        """One that was never recorded is not waited for."""
        if event not in self._events:
            return
        if self._graphs:
            graph = self._graphs[-1]
            graph.learnt = graph.known[graph.node] = _joined(graph.learnt, self._events[event])
            return
        _join(self._stream(stream).clock, self._events[event])

    def _at_node(self) -> Clock:
        """What has ended when the node is reached that comes next: of its graph the nodes before it."""
        graph = self._graphs[-1]
        reached = _joined(graph.reached, graph.learnt)
        nodes = [bit for bit in range(self._bits) if graph.now >> bit & 1]
        if len(nodes) > _MOST_NODES:
            return reached
        reached[graph.stream] = graph.number - 1
        return reached | {self._first_node + bit + 1: 1 for bit in nodes}

    def begin_graph(self, stream: int) -> None:
        """A graph is launched, or a child where its own node is."""
        if self._graphs:
            of = self._graphs[-1]
            self._graphs.append(_Graph(of.stream, of.number, of.reached, of.launch, of.now, of.learnt))
            return
        self._nodes += self._bits
        self._bits = 0
        self._forget_nodes()
        moment = self.work(stream)
        self._launches += 1
        self._graphs.append(_Graph(stream, moment.number, moment.reached, self._launches, 0))

    def _forget_nodes(self) -> None:
        """Those of so long ago that no work is held against them."""
        if self._nodes - self._forgotten < 2 * _NODES_KEPT:
            return
        self._forgotten = self._nodes - _NODES_KEPT
        clocks = [self.host, *(stream.clock for stream in self._streams.values()), *self._events.values()]
        for clock in clocks:
            for old in [key for key in clock if _NODES <= key <= _NODES + self._forgotten]:
                del clock[old]

    def node(self, node: int, after: Sequence[int]) -> None:
        """What comes next is of this node, which comes behind those."""
        graph = self._graphs[-1]
        graph.now, learnt = graph.before, graph.inherited
        for earlier in after:
            graph.now |= graph.ends.get(earlier, 0)
            if earlier in graph.known:
                learnt = _joined(learnt, graph.known[earlier])
        graph.node, graph.learnt = node, learnt
        graph.ends[node] = graph.now
        if learnt:
            graph.known[node] = learnt

    def end_graph(self) -> None:
        graph = self._graphs.pop()
        learnt = graph.learnt
        for each in graph.known.values():
            learnt = _joined(learnt, each)
        if self._graphs:
            outer = self._graphs[-1]
            for end in graph.ends.values():
                outer.now |= end
            outer.ends[outer.node] = outer.now
            if learnt:
                outer.learnt = outer.known[outer.node] = _joined(outer.learnt, learnt)
        elif learnt:
            _join(self._stream(graph.stream).clock, learnt)

    # -- the host -----------------------------------------------------------------------------------------------------
    def wait_for(self, moment: Moment) -> None:
        """The host knows that a piece of work has ended, and all before it."""
        _join(self.host, moment.reached)

    def wait_for_stream(self, stream: int) -> None:
        is_legacy = stream < DEFAULTS and stream % 2 == 1
        _join(self.host, self._next(stream) if is_legacy else self._stream(stream).clock)

    def wait_for_event(self, event: int) -> None:
        _join(self.host, self._events.get(event, {}))

    def wait_for_device(self, device: int) -> None:
        for stream in self._streams.values():
            if stream.device == device:
                _join(self.host, stream.clock)

    def is_outstanding(self, stream: int) -> bool:
        """Whether the host does not know yet that all of a stream's work has ended."""
        return any(self.host.get(of, 0) < number for of, number in self._stream(stream).clock.items())

    def is_unknown(self, event: int) -> bool:
        """The same of what an event stands for."""
        return any(self.host.get(of, 0) < number for of, number in self._events.get(event, {}).items())


def _join(clock: Clock, other: Clock) -> None:
    for stream, number in other.items():
        if clock.get(stream, 0) < number:
            clock[stream] = number


def _joined(clock: Clock, other: Clock) -> Clock:
    made = dict(clock)
    _join(made, other)
    return made


def _later(clock: Clock, other: Clock) -> Clock:
    return {stream: max(number, clock.get(stream, 0)) for stream, number in other.items()}
