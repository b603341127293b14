"""What a launch needs in memory: the records that machine code reads; each worker's stacks, shared and local memory."""

from __future__ import annotations

import ctypes
import functools
import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.virtual.abi.address_spaces import RANK_SHIFT
from gridstride.virtual.abi.copy_queue import QUEUE_BYTES
from gridstride.virtual.abi.execution_records import BLOCK, CLUSTER, LAUNCH, TID_RECORD, WARP, WORKER
from gridstride.virtual.abi.finding_records import FINDING, MAX_FINDINGS
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import CLUSTER_PLANES, CLUSTER_RACE, LANE_SHADOW, PLANES, RACE
from gridstride.virtual.abi.wgmma_flights import FLIGHT_BYTES
from gridstride.virtual.lowering.frame_layout import RECURSIVE_LOCAL
from gridstride.virtual.machine.memory.addresses import reserve
from gridstride.virtual.machine.memory.touched import Touched
from gridstride.virtual.machine.variant import Tables

Dim3 = tuple[int, int, int]
Array = np.ndarray[Any, Any]

STACK = 512 << 10
DEEP_STACK = 8 << 20
"""Bytes of stack per warp, without and with recursion; taken only as it is touched."""
PAGE = 4096
STACKS_LIMIT = 16 << 30
SHARED_ALIGN = 1024
PARAMETER_ALIGN = 128
"""Bytes: a struct may ask for that much, as a tensor map does."""


class WorkerMemory:
    """Memory of one worker that grows to what the largest launch needs and is used by all."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[mmap.mmap, int, int]] = {}

    def memory(self, name: str, size: int) -> tuple[mmap.mmap, int]:
        """At least `size` bytes and their address. Who keeps the address must keep the memory: the room may grow."""
        held = self._held.get(name)
        if held is None or held[2] < size:
            memory, base = reserve(max(size, 1 << 16) + SHARED_ALIGN)
            held = (memory, -(-base // SHARED_ALIGN) * SHARED_ALIGN, size)
            self._held[name] = held
        return held[:2]


@functools.lru_cache(maxsize=64)
def thread_table(block: Dim3) -> Array:
    """%tid of every lane and the mask of lanes, per warp, as the machine code reads it (TID_RECORD bytes each)."""
    x, y, z = block
    threads = x * y * z
    warps = -(-threads // LANES)
    number = np.arange(warps * LANES, dtype=np.uint32)
    table = np.zeros((warps, TID_RECORD // 4), np.uint32)
    axes = (number % x, number // x % y, number // (x * y))
    for axis, values in enumerate(axes):
        table[:, LANES * axis : LANES * (axis + 1)] = values.reshape(warps, LANES)
    active = (number < threads).reshape(warps, LANES).astype(np.uint64) << np.arange(LANES, dtype=np.uint64)
    table[:, 3 * LANES] = active.sum(axis=1)
    return table


@dataclass(frozen=True, slots=True)
class Demand:
    """What decides how large a session is."""

    warps: int
    slots: int
    shared: int
    workers: int
    counters: int = 0
    observed: bool = False
    race_shift: int = -1
    """Counters per worker; whether blocks are observed; log2 of the bytes a race is found at, -1 for none."""
    cluster: int = 0
    """Blocks in a cluster whose blocks know of it; 0 where blocks run on their own. `slots` is a multiple of it."""
    spins: bool = False
    """Whether its loops may wait for other threads."""
    parameters: int = 0
    """Bytes of packed parameters."""


class Session:
    """Records for launches of one kernel with one demand; reused as long as launches look alike."""

    def __init__(self, tables: Tables, demand: Demand, rooms: list[WorkerMemory]) -> None:
        self.demand = demand
        self.launch = np.zeros(1, LAUNCH.dtype())
        self.workers = np.zeros(demand.workers, WORKER.dtype())
        self.blocks = [np.zeros(demand.slots, BLOCK.dtype()) for _ in range(demand.workers)]
        per_slot = demand.warps + tables.groups
        self.warps = [np.zeros(demand.slots * per_slot, WARP.dtype()) for _ in range(demand.workers)]
        self.blank = tables.site_records()
        self.sites = [self.blank.copy() for _ in range(demand.workers)]
        self.counters = [np.zeros(max(1, demand.counters), np.uint64) for _ in range(demand.workers)]
        self.params = np.zeros(demand.parameters + PARAMETER_ALIGN, np.uint8)
        self.thread_table: Array = self.blank
        self.symbol_table: Array = self.blank
        self.multiprocessors: Array = self.blank
        self.allocations: Array = self.blank
        self.generation = -1
        self.time_limit = 0.0  # seconds that the last launch was given
        self.launch_address = self.launch.ctypes.data
        self.params_address = -(-self.params.ctypes.data // PARAMETER_ALIGN) * PARAMETER_ALIGN
        self.addresses = [self.workers.ctypes.data + WORKER.size * i for i in range(demand.workers)]
        # A warp that never gives way leaves its stack to the next one; even a single warp that does needs its own.
        own_stacks = tables.waits or tables.spins or demand.slots > 1
        fibers = demand.slots * per_slot if own_stacks else 1
        self.launch["shared_stacks"] = not own_stacks
        self.params_skip = self.params_address - self.params.ctypes.data
        """Bytes of `params` ahead of the first parameter."""
        self.launch["params"] = self.params_address
        self.launch["warps_per_slot"] = per_slot
        stack = stack_size(tables)
        self.findings = np.zeros(MAX_FINDINGS if demand.observed else 0, FINDING.dtype())
        self.shadows: list[Array] = []
        self.clusters: list[Array] = []
        self.caches: list[Array] = []
        self._rented: list[mmap.mmap] = []
        self.launch["findings"] = self.findings.ctypes.data
        for index, room in enumerate(rooms[: demand.workers]):
            self._fill(index, room, tables, fibers, stack)
            if demand.race_shift >= 0:
                self._shadow(index)
                if demand.shared:
                    self._lane_shadow(index)

    def _fill(self, index: int, room: WorkerMemory, tables: Tables, fibers: int, stack: int) -> None:
        demand, record = self.demand, self.workers[index]
        fibers_of_slots = demand.slots * (demand.warps + tables.groups)
        shared = -(-max(demand.shared, 1) // SHARED_ALIGN) * SHARED_ALIGN
        if demand.cluster:
            shared = 1 << RANK_SHIFT
            self.clusters.append(np.zeros(demand.slots // demand.cluster, CLUSTER.dtype()))
            record["clusters"] = self.clusters[-1].ctypes.data
        local = tables.local_size * LANES
        record["launch"] = self.launch_address
        record["blocks"], record["warps"] = self.blocks[index].ctypes.data, self.warps[index].ctypes.data
        record["stacks"], record["stack_size"] = self._rent(room, "stacks", fibers * stack), stack
        record["shared"], record["shared_stride"] = self._rent(room, "shared", demand.slots * shared), shared
        record["local"] = self._rent(room, "local", fibers_of_slots * local)
        record["local_stride"] = local
        if demand.observed and local:
            record["local_unset"] = self._rent(room, "local_unset", fibers_of_slots * local)
        record["sites"], record["counters"] = self.sites[index].ctypes.data, self.counters[index].ctypes.data
        if tables.counters and any(name.startswith(("cp.", "st.async")) for name in tables.site_names):
            record["copies"] = self._rent(room, "copies", fibers_of_slots * QUEUE_BYTES)
        if tables.counters and any(name.startswith("wgmma.") for name in tables.site_names):
            record["wgmma"] = self._rent(room, "wgmma", fibers_of_slots * FLIGHT_BYTES)
        record["slots"], record["index"] = demand.slots, index

    def _rent(self, room: WorkerMemory, name: str, size: int) -> int:
        memory, base = room.memory(name, size)
        self._rented.append(memory)
        return base

    def _shadow(self, index: int) -> None:
        """The race detector's memory of one worker, a record and its planes for each slot."""
        units = -(-self.demand.shared >> self.demand.race_shift) + 1
        stride = -(-(RACE.size + 4 * len(PLANES) * units) // 64) * 64
        memory = np.zeros(stride * self.demand.slots + 64, np.uint8)
        base = -(-memory.ctypes.data // 64) * 64
        self.shadows.append(memory)
        skip = base - memory.ctypes.data
        for slot in range(self.demand.slots):
            head = memory[skip + stride * slot :][: RACE.size].view(RACE.dtype())
            head["words"], head["shift"], head["warps"] = units, self.demand.race_shift, self.demand.warps
        self.workers[index]["race"], self.workers[index]["race_stride"] = base, stride
        if self.demand.cluster:
            self._team_shadow(index, units)

    def _team_shadow(self, index: int, count: int) -> None:
        """The same between the blocks of clusters, one for each cluster that the worker holds."""
        demand, units = self.demand, count * self.demand.cluster
        stride = -(-(CLUSTER_RACE.size + 4 * len(CLUSTER_PLANES) * units) // 64) * 64
        groups = demand.slots // demand.cluster
        memory = np.zeros(stride * groups + 64, np.uint8)
        base = -(-memory.ctypes.data // 64) * 64
        self.shadows.append(memory)
        skip = base - memory.ctypes.data
        for group in range(groups):
            head = memory[skip + stride * group :][: CLUSTER_RACE.size].view(CLUSTER_RACE.dtype())
            head["units"], head["units_per_block"], head["shift"] = units, count, demand.race_shift
        self.workers[index]["team_race"], self.workers[index]["team_race_stride"] = base, stride

    def watch(self, touched: Touched, l1_lines: int) -> None:
        """Has the launch remember what it touches."""
        touched.open()
        self.caches = [touched.attach(worker, l1_lines) for worker in self.workers]

    def restart(self) -> None:
        """Clears what the last launch left."""
        launch = self.launch
        launch["next"] = 0
        launch["abort"] = 0
        launch["faulted"] = 0
        launch["exited"] = 0
        launch["patience_left"] = launch["patience"]
        launch["output_used"] = launch["output_lost"] = 0
        for blocks in self.blocks:
            blocks["active"] = 0
        for clusters in self.clusters:
            clusters["active"] = 0

    def _lane_shadow(self, index: int) -> None:
        """The same for races within a warp: two entries of 8 bytes for each unit."""
        units = -(-self.demand.shared >> self.demand.race_shift) + 1
        stride = LANE_SHADOW.size + 16 * units
        memory = np.zeros(stride * self.demand.slots, np.uint8)
        self.shadows.append(memory)
        self.workers[index]["lanes"], self.workers[index]["lanes_stride"] = memory.ctypes.data, stride

    def watch_unset(self, shadow: int, low: int, span: int) -> None:
        """Has reads of global memory checked against its shadow."""
        self.launch["unset"], self.launch["unset_low"], self.launch["unset_span"] = shadow, low, span

    def take_parameters(self, packed: bytes) -> None:
        """Puts a launch's packed parameters where the machine code reads them."""
        assert len(packed) == self.demand.parameters, "a launch packs what the kernel declares"
        ctypes.memmove(self.params_address, packed, len(packed))

    def stopped(self) -> bool:
        """True where the launch did not run to its end."""
        return bool(self.launch["abort"][0])

    def forget_bounds(self, generation: int) -> None:
        """Drops what the sites remember: an allocation has come or gone since."""
        self.generation = generation
        for sites in self.sites:
            sites[:] = self.blank


def most_slots(tables: Tables, warps: int) -> int:
    """How many blocks of so many warps a worker can hold at a time."""
    return max(1, STACKS_LIMIT // (stack_size(tables) * (warps + tables.groups)))


def stack_size(tables: Tables) -> int:
    """Bytes of stack for each warp: kernels with thousands of registers keep most of them there."""
    deep = DEEP_STACK * max(1, tables.local_size // RECURSIVE_LOCAL)  # as deep as their arrays may go
    return (deep if tables.recursive else STACK) + -(-tables.stack // PAGE) * PAGE
