"""What a grid launched: the queue that its threads fill, read back as operations in the order they were given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import DeviceProperties, Dim3, Shape
from gridstride.virtual.abi.grid_launches import (
    CALLABLE,
    FAILURE,
    MAX_FAILURES,
    NO_ATTRIBUTE,
    PENDING,
    QUEUE,
    QUEUED,
    TAIL,
)

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import VirtualDevice
    from gridstride.virtual.machine.summary import KernelEntry

Array = np.ndarray[Any, Any]

ERRORS = {
    0: ("cudaSuccess", "no error"),
    1: ("cudaErrorInvalidValue", "invalid argument"),
    2: ("cudaErrorMemoryAllocation", "out of memory"),
    9: ("cudaErrorInvalidConfiguration", "invalid configuration argument"),
    69: ("cudaErrorLaunchPendingCountExceeded", "launch would exceed maximum number of pending launches"),
    98: ("cudaErrorInvalidDeviceFunction", "invalid device function"),
    101: ("cudaErrorInvalidDevice", "invalid device ordinal"),
    400: ("cudaErrorInvalidResourceHandle", "invalid resource handle"),
}
_UNKNOWN = ("unrecognized error code", "unrecognized error code")
_NAMES = max(ERRORS) + 2


@dataclass(frozen=True, slots=True)
class Thread:
    """Who asked for something: linear block index, warp, lane, and the site of the call."""

    block: int
    warp: int
    lane: int
    site: int


@dataclass(frozen=True, slots=True)
class QueuedOperation:
    """A launch (`kind` KERNEL, `packed` its parameters), a copy or a fill of `bytes` at `target`."""

    kind: int
    thread: Thread
    stream: int
    function: int
    shape: Shape
    packed: bytes
    target: int
    source: int
    bytes: int
    value: int

    @property
    def tail(self) -> bool:
        """Whether it runs when its grid and all else that the grid launched are through."""
        return self.stream == TAIL


@dataclass(slots=True)
class GridCount:
    """How many grids began, with their blocks and threads."""

    grids: int = 0
    blocks: int = 0
    threads: int = 0

    def add(self, shape: Shape) -> None:
        """One grid more."""
        self.grids += 1
        self.blocks += shape.blocks
        self.threads += shape.blocks * shape.threads


@dataclass(frozen=True, slots=True)
class LaunchFailure:
    """A launch or a call that failed, and whether the thread asked for the error."""

    code: int
    function: int
    thread: Thread
    seen: bool

    @property
    def name(self) -> str:
        return ERRORS.get(self.code, _UNKNOWN)[0]

    @property
    def text(self) -> str:
        return ERRORS.get(self.code, _UNKNOWN)[1]


class LaunchQueue:
    """Where the threads of one module's kernels leave what they launch; room for `limit` operations at a time."""

    def __init__(self, device: VirtualDevice, entries: Sequence[KernelEntry], limit: int) -> None:
        self._device, self._limit = device, limit
        sizes = [e.parameters[-1].offset + e.parameters[-1].size for e in entries if e.parameters]
        self.stride = -(-max([64, *sizes]) // 64) * 64
        self.record = np.zeros(1, QUEUE.dtype())
        self._records = np.zeros(limit, PENDING.dtype())
        self._failed = np.zeros(MAX_FAILURES, FAILURE.dtype())
        self._functions = _callables(entries, device.properties)
        self._attributes = _attributes(device.properties)
        self._pool = device.allocate(limit * self.stride)
        self._texts, self._strings = _error_texts(device)
        device.own |= {self._pool, self._texts}
        self.address = self.record.ctypes.data
        self._describe(device.properties)

    def _describe(self, chip: DeviceProperties) -> None:
        tables = {"records": self._records, "functions": self._functions, "attributes": self._attributes,
                  "strings": self._strings, "failed": self._failed}  # fmt: skip
        numbers = {
            "pool": self._pool, "stride": self.stride, "end": self._pool + self._limit * self.stride,
            "function_count": len(self._functions) - 1, "attribute_count": len(self._attributes) - 1, "names": _NAMES,
            "shared_limit": chip.shared_per_block,
            "binary": 10 * chip.compute_capability[0] + chip.compute_capability[1],
        }  # fmt: skip
        for name, value in (numbers | {n: t.ctypes.data for n, t in tables.items()}).items():
            self.record[name] = value
        self.record["grid_limit"], self.record["block_limit"] = chip.max_grid, chip.max_block

    def open(self, outstanding: int) -> None:
        """Empties the queue for a grid, while so many operations of those above it still wait."""
        for name in ("count", "order", "streams", "failures"):
            self.record[name] = 0
        self._records["state"] = 0
        self.record["limit"] = max(0, self._limit - outstanding)

    def operations(self) -> list[QueuedOperation]:
        """What was given to streams, in that order."""
        count = min(int(self.record["count"][0]), int(self.record["limit"][0]))
        used = self._records[:count]
        numbers = [int(i) for i in np.flatnonzero(used["state"] == QUEUED)]
        return [self._operation(n) for n in sorted(numbers, key=lambda n: int(used[n]["order"]))]

    def _operation(self, number: int) -> QueuedOperation:
        r = self._records[number]
        packed = self._device.arena.view(self._pool + number * self.stride, self.stride).tobytes()
        shape = Shape(_dim3(r["grid"]), _dim3(r["block"]), int(r["shared"]))
        stream, function = int(r["stream"]), int(r["function"])
        memory = [int(r[name]) for name in ("target", "source", "bytes", "value")]
        return QueuedOperation(int(r["kind"]), _thread(r), stream, function, shape, packed, *memory)

    def failures(self) -> tuple[list[LaunchFailure], int]:
        """The first errors, and how many there were in all."""
        total = int(self.record["failures"][0])
        recorded = self._failed[: min(total, MAX_FAILURES)]
        return [LaunchFailure(int(f["code"]), int(f["function"]), _thread(f), bool(f["seen"])) for f in recorded], total

    def release(self) -> None:
        """Gives the device memory back."""
        for address in (self._pool, self._texts):
            self._device.free(address)


def _thread(record: Any) -> Thread:
    return Thread(*(int(record[name]) for name in ("index", "warp", "lane", "site")))


def _dim3(values: Iterable[Any]) -> Dim3:
    x, y, z = (int(v) for v in values)
    return x, y, z


def _callables(entries: Sequence[KernelEntry], chip: DeviceProperties) -> Array:
    """By function number; the last one is for what is no function at all."""
    table = np.zeros(max((e.number for e in entries), default=0) + 2, CALLABLE.dtype())
    for e in entries:
        threads = min(chip.max_threads_per_block, e.most_threads or chip.max_threads_per_block)
        table[e.number]["entry"], table[e.number]["threads"] = 1, threads
        table[e.number]["shared"], table[e.number]["local"] = e.static_shared, e.local
    return table


def _attributes(chip: DeviceProperties) -> Array:
    """cudaDeviceGetAttribute's values by cudaDeviceAttr (driver_types.h); those not known have NO_ATTRIBUTE. `same` is
    what all chips from capability 7.5 on have.
    """
    same = {9: 64 << 10, 11: 2**31 - 1, 14: 512, 30: 512, 51: 32} | dict.fromkeys((17, 18, 20), 0)
    same |= dict.fromkeys((15, 19, 31, 32, 41, 78, 79, 80, 83, 90, 91, 95), 1)
    major, minor = chip.compute_capability
    values = same | {
        1: chip.max_threads_per_block, 2: chip.max_block[0], 3: chip.max_block[1], 4: chip.max_block[2],
        5: chip.max_grid[0], 6: chip.max_grid[1], 7: chip.max_grid[2], 8: chip.shared_per_block, 10: chip.warp_size,
        12: chip.registers_per_multiprocessor, 13: round(1e3 * chip.clock_mhz), 16: chip.multiprocessors,
        36: round(1e3 * chip.memory_clock_mhz), 37: chip.memory_bus_bits, 38: chip.l2_bytes,
        39: chip.max_threads_per_multiprocessor, 75: major, 76: minor, 81: chip.shared_per_multiprocessor,
        82: chip.registers_per_multiprocessor, 97: chip.shared_per_block_optin,
        106: chip.max_blocks_per_multiprocessor,
    }  # fmt: skip
    table = np.full(max(values) + 2, NO_ATTRIBUTE, np.int32)
    for number, value in values.items():
        table[number] = value
    return table


def _error_texts(device: VirtualDevice) -> tuple[int, Array]:
    """Where the names and texts of errors lie in device memory: its address, and a table of addresses by code."""
    text, at, offsets = bytearray(), {}, np.zeros(2 * _NAMES, np.uint64)
    for part in range(2):
        for code in range(_NAMES):
            words = ERRORS.get(code, _UNKNOWN)[part]
            if words not in at:
                at[words] = len(text)
                text += words.encode() + b"\0"
            offsets[part * _NAMES + code] = at[words]
    address = device.allocate(len(text))
    device.copy_in(address, np.frombuffer(bytes(text), np.uint8))
    return address, offsets + np.uint64(address)
