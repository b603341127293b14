"""What a program did on the device, counted as its calls come in, and calls that are made to fail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import prod
from typing import TYPE_CHECKING

from gridstride.programs.calls.graph_calls import GraphCall
from gridstride.programs.calls.objects import OBJECTS, left_of
from gridstride.programs.timeline.totals import Totals
from gridstride.programs.toolchain.runtime_functions import is_reported
from gridstride.virtual.machine.memory.owners import HOST
from gridstride.virtual.observe.line_counters import LineCounters

if TYPE_CHECKING:
    from gridstride.protocol import Shape
    from gridstride.virtual.machine.launch_queue import GridCount

_WARP = 32
_TO_DEVICE, _TO_HOST, _WITHIN = 1, 2, 3  # cudaMemcpyKind

_GRAPH_COUNTS: dict[GraphCall, str] = {
    "node added": "graph_nodes", "instantiated": "instantiations", "launched": "graph_launches",
    "kernel": "graph_kernels", "updated": "graph_updates", "node set": "node_updates",
    "condition": "conditions",
}  # fmt: skip

Call = str
"""What can be made to fail: one of CALLS, or a function of the runtime by its name."""
CALLS: tuple[Call, ...] = ("allocation", "copy", "launch", "kernel")
"""Kinds of calls: a `launch` is refused at once, a `kernel` faults while it runs."""


@dataclass(slots=True)
class Links:
    """Bytes from one GPU to another, and the GPUs that ran kernels."""

    gpus: int = 1
    launches: Counter[int] = field(default_factory=Counter)
    nbytes: Counter[tuple[int, int]] = field(default_factory=Counter)

    def copied(self, nbytes: int, origin: int, to: int) -> None:
        """By a copy, or by a kernel."""
        self.nbytes[origin, to] += nbytes

    def busiest_port(self) -> int:
        """Bytes that left one GPU, or that came to one, whichever is most."""
        ports: Counter[tuple[str, int]] = Counter()
        for (origin, to), nbytes in self.nbytes.items():
            ports["out of", origin] += nbytes
            ports["into", to] += nbytes
        return max(ports.values(), default=0)

    def as_dict(self) -> dict[str, int]:
        """By name, of a program that sees several GPUs: what each has launched, and each link that was used."""
        if self.gpus == 1:
            return {}
        launches = {f"gpu_{gpu}_launches": self.launches[gpu] for gpu in range(self.gpus)}
        return launches | {f"link_{a}_to_{b}_bytes": nbytes for (a, b), nbytes in sorted(self.nbytes.items())}


_BY_GPU = re.compile(r"gpu_\d+_launches|link_\d+_to_\d+_bytes")  # of Links.as_dict


_TABLES = ("times", "links", "objects", "functions")
"""Fields of an activity that are several figures."""


@dataclass(slots=True)
class Activity:
    """Counts of a whole run. Bytes are of copies that were asked for; memory that is still held when the program
    ends is what it has not given back; `most_held_bytes` a GPU held at once, variables among them, of the
    `memory_bytes` that it has. `unwaited_launches`: no call has waited for the device since; `freed_launches`: the
    first that did was cudaFree. `failed_calls` were made to fail. `kernel_lines` are lines that kernels printed.
    `child_grids` were launched by kernels, and are not among `launches`, nor their blocks and threads among
    `blocks` and `threads`. `pool_allocations` are those of `allocations` that came from a memory pool,
    `pool_growths` how often a pool asked the device for memory. `waits` are the host's for the device.
    `graph_kernels` are those of `launches` that were nodes of graphs, `graph_launches` the calls that started
    graphs, `graph_updates` whole instances that took over another graph and `node_updates` single nodes of
    instances changed; `conditions` how often a conditional node looked at its value. `objects` were made and not
    yet destroyed, `functions` of the runtime called, where that is told. `peer_bytes` went from one GPU to another,
    `busiest_link_bytes` of them from one of a pair to the other, `busiest_port_bytes` out of one GPU or into one,
    and `staged_bytes` through the host, as neither of two had access; `host_memory_bytes` kernels read and wrote of
    pinned memory, over the link; what kernels read and write of another GPU's memory is among the first three where
    times are predicted. `times` are of the modelled timeline. They and what kernels counted (KERNEL_COUNTS, as
    `LineCounters` has them; a launch like one before is taken to count the same) are all 0 unless times are
    predicted.
    """

    launches: int = 0
    blocks: int = 0
    threads: int = 0
    warps: int = 0
    allocations: int = 0
    allocated_bytes: int = 0
    most_held_bytes: int = 0
    memory_bytes: int = 0
    copies: int = 0
    to_device_bytes: int = 0
    to_host_bytes: int = 0
    within_bytes: int = 0
    peer_bytes: int = 0
    busiest_link_bytes: int = 0
    busiest_port_bytes: int = 0
    staged_bytes: int = 0
    host_memory_bytes: int = 0
    unwaited_launches: int = 0
    freed_launches: int = 0
    failed_calls: int = 0
    kernel_lines: int = 0
    child_grids: int = 0
    child_blocks: int = 0
    child_threads: int = 0
    pool_allocations: int = 0
    pool_growths: int = 0
    waits: int = 0
    graph_nodes: int = 0
    instantiations: int = 0
    graph_launches: int = 0
    graph_kernels: int = 0
    graph_updates: int = 0
    node_updates: int = 0
    conditions: int = 0
    times: Totals = field(default_factory=Totals)
    links: Links = field(default_factory=Links)
    objects: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    instructions: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_store_sectors: int = 0
    shared_requests: int = 0
    bank_conflicts: int = 0
    constant_requests: int = 0
    constant_wavefronts: int = 0
    texture_requests: int = 0

    def launched(self, shape: Shape, device: int = 0) -> None:
        """One launch more, on a GPU."""
        blocks, threads = prod(shape.grid), prod(shape.block)
        self.launches += 1
        self.unwaited_launches += 1
        self.links.launches[device] += 1
        self.blocks += blocks
        self.threads += blocks * threads
        self.warps += blocks * -(-threads // _WARP)

    def allocated(self, nbytes: int) -> None:
        """One allocation more."""
        self.allocations += 1
        self.allocated_bytes += nbytes

    def held_most(self, nbytes: int) -> None:
        """So many bytes of a GPU's memory are in use now."""
        self.most_held_bytes = max(self.most_held_bytes, nbytes)

    def copied(self, nbytes: int, kind: int) -> None:
        """One copy more; `kind` is its cudaMemcpyKind."""
        self.copies += 1
        self.to_device_bytes += nbytes if kind == _TO_DEVICE else 0
        self.to_host_bytes += nbytes if kind == _TO_HOST else 0
        self.within_bytes += nbytes if kind == _WITHIN else 0

    def graph_called(self, call: GraphCall) -> None:
        """One call more that has to do with graphs, or one kernel of a graph."""
        name = _GRAPH_COUNTS[call]
        setattr(self, name, getattr(self, name) + 1)

    def copied_to_peer(self, nbytes: int, origin: int, to: int, *, direct: bool) -> None:
        """And this one went from one GPU to another; `direct`: one of them may use the other's memory."""
        self.staged_bytes += 0 if direct else nbytes
        self.crossed(nbytes, origin, to)

    def crossed(self, nbytes: int, origin: int, to: int) -> None:
        """Bytes from one GPU or HOST to another, by a copy or by a kernel that uses the other's memory."""
        if HOST in (origin, to):
            self.host_memory_bytes += nbytes
            return
        self.peer_bytes += nbytes
        self.links.copied(nbytes, origin, to)
        self.busiest_link_bytes = max(self.links.nbytes.values())
        self.busiest_port_bytes = self.links.busiest_port()

    def children(self, launched: GridCount) -> None:
        """The grids that kernels launched, of the whole run."""
        self.child_grids, self.child_blocks, self.child_threads = launched.grids, launched.blocks, launched.threads

    def observed(self, counters: LineCounters) -> None:
        """What one launch counted."""
        for name in KERNEL_COUNTS:
            setattr(self, name, getattr(self, name) + getattr(counters, name))

    def as_dict(self) -> dict[str, float]:
        """By name."""
        counts = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _TABLES}
        leaked = {left_of(name): self.objects[name] for name in OBJECTS}
        functions = {calls_of(name): number for name, number in self.functions.items()}
        return counts | asdict(self.times) | self.links.as_dict() | leaked | functions


ACTIVITY_NAMES = (
    *(field.name for kind in (Activity, Totals) for field in fields(kind) if field.name not in _TABLES),
    *map(left_of, OBJECTS),
)
KERNEL_COUNTS = tuple(field.name for field in fields(LineCounters) if field.name in ACTIVITY_NAMES)
"""Those that only a run with predicted times has."""
OF_LINKS = ("peer_bytes", "busiest_link_bytes", "busiest_port_bytes", "host_memory_bytes")
"""Those that hold the bytes of kernels only in such a run."""


def is_activity_name(name: str) -> bool:
    """Whether `Activity.as_dict` may have it."""
    function = name.removeprefix(_CALLS_OF)
    return name in ACTIVITY_NAMES or bool(_BY_GPU.fullmatch(name)) or (function != name and is_reported(function))


_COUNTED = {"allocation": "allocations", "copy": "copies", "launch": "launches", "kernel": "launches"}
_CALLS_OF = "calls_of_"


def calls_of(function: str) -> str:
    """What an activity calls the number of calls of a function of the runtime."""
    return f"{_CALLS_OF}{function}"


def counted_as(call: Call) -> str:
    """What counts the calls of a kind that did not fail, or all calls of a function."""
    return _COUNTED.get(call) or calls_of(call)


def functions_called(counts: Mapping[str, float]) -> dict[str, int]:
    """Of an activity, how often each function of the runtime was called."""
    return {name.removeprefix(_CALLS_OF): int(n) for name, n in counts.items() if name.startswith(_CALLS_OF)}


class Failures:
    """Which calls are to fail: {"allocation": 2} is the second allocation of the program. Each fails once."""

    def __init__(self, numbers: dict[Call, int], activity: Activity) -> None:
        self._remaining, self._activity = dict(numbers), activity

    def due(self, call: Call) -> bool:
        """Whether this call, which is being made now, is to fail."""
        if call not in self._remaining:
            return False
        self._remaining[call] -= 1
        due = self._remaining[call] == 0
        self._activity.failed_calls += due
        return due


def failure(text: str) -> tuple[Call, int]:
    """A call and its number from `allocation=2` or `cudaEventRecord=1`; ValueError says what belongs there."""
    word, _, number = text.partition("=")
    if (word not in CALLS and not is_reported(word)) or not number.isdecimal() or int(number) < 1:
        raise ValueError(f"{text!r}: CALL=NUMBER belongs there, such as allocation=2; calls are {', '.join(CALLS)} and "
                         "functions of the runtime by name, such as cudaEventRecord")  # fmt: skip
    return word, int(number)
