"""The virtual GPU as a device: memory, modules, streams and events, behind the same protocol as a physical one."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridstride.protocol import DeviceError, DeviceProperties, Dim3, LinkInput, OutOfDeviceMemory
from gridstride.virtual.abi.hardware_limits import HARDWARE_STACK
from gridstride.virtual.chips import Chip, chip
from gridstride.virtual.findings.finding import KernelFault, KernelFinding
from gridstride.virtual.findings.lifetimes import caller, leaks
from gridstride.virtual.launch.virtual_module import VirtualModule
from gridstride.virtual.machine.deferred_calls import DeferredCalls
from gridstride.virtual.machine.device_options import (
    HEAP,
    PENDING_LAUNCHES,
    PRINTF_BUFFER,
    at_least,
    checked_schedule,
    checked_time_limit,
)
from gridstride.virtual.machine.launch_queue import GridCount
from gridstride.virtual.machine.memory.addresses import affordable
from gridstride.virtual.machine.memory.arena import PAGE, Arena, host_memory
from gridstride.virtual.machine.memory.footprint import Footprint
from gridstride.virtual.machine.memory.heap import Heap, Origin
from gridstride.virtual.machine.memory.images import ObjectTable
from gridstride.virtual.machine.memory.printf_buffer import PrintfBuffer
from gridstride.virtual.machine.memory.shadow import Shadow
from gridstride.virtual.machine.memory.touched import Touched
from gridstride.virtual.machine.memory.uninitialised_map import Unset
from gridstride.virtual.machine.schedule import Schedule, seeded
from gridstride.virtual.machine.session import WorkerMemory
from gridstride.virtual.machine.streams import PRIORITIES, VirtualEvent, VirtualRecording, VirtualStream
from gridstride.virtual.machine.variant import Tables
from gridstride.virtual.machine.workers import Helpers, cores

WORKSPACE = 256
"""Bytes of a cooperative grid's workspace, of which cooperative groups' grid barrier uses the first ones."""

LEAST_MEMORY = 64 << 20
_SHARES = 4  # of the addresses that a limit leaves: a verdict has a second GPU, a ladder a third, and each its shadows
"""Bytes of global memory below which a default does not go, however few addresses there are."""

QUARANTINE = 64 << 20
"""Bytes of freed memory whose addresses the sanitizer does not give out again at once."""


class VirtualGPU:
    """A GPU that is not there.

    `chip`: whose limits it has (see `gridstride chips`). `sanitize`: every launch runs on the observed build, which
    sees all of its blocks, and raises what it finds. `workers`: threads that run blocks, one per core by default.
    `memory`: bytes of global memory, by default the chip's or three quarters of this machine's, whichever is less, and
    less still where a limit of the process's address space leaves no more.
    `time_limit`: seconds per launch. `printf_buffer` and `heap`: bytes that one launch may print, and that malloc in
    kernels shares out. `pending_launches`: how many launches from kernels may wait to begin. `schedule`: in which order
    blocks and warps run (`scheduled` changes it for a while); without one, blocks start in turn and workers take them
    as they come. `seed`: draws such an order, and has all blocks that are observed be checked for races between lanes
    of one warp. ValueError for an unknown chip or a number out of range.
    """

    kind = "virtual"

    def __init__(
        self, chip_name: str = "h200", *, sanitize: bool = False, workers: int | None = None, memory: int | None = None,
        time_limit: float | None = None, printf_buffer: int = PRINTF_BUFFER, heap: int = HEAP,
        pending_launches: int = PENDING_LAUNCHES, seed: int | None = None, schedule: Schedule | None = None,
    ) -> None:  # fmt: skip
        self.model: Chip = chip(chip_name)
        self.chip = self.model.key
        self.name = f"virtual {self.chip}"
        self.sanitize = sanitize
        self.seed = None if seed is None else at_least(0, "seed", seed)
        if self.seed is not None and schedule is None:
            schedule = seeded(self.seed)
        self.schedule = checked_schedule(schedule)
        self.faults: list[KernelFault] = []
        """What `observe` found, which it does not raise: the exceptions that launches would have raised, in order.
        Where there is a `home`, also what launches from other threads raised."""
        self.home: threading.Thread | None = None
        """The thread whose exceptions somebody looks at; those of others end their thread and may never be seen."""
        self.workers = at_least(1, "workers", cores() if workers is None else workers)
        self._memory_is_given = memory is not None
        self.memory = at_least(1, "memory", self._most_memory() if memory is None else memory)
        self.time_limit = checked_time_limit(time_limit)
        self.lock = threading.RLock()
        self._deferred = DeferredCalls(self.lock)
        """What finalizers have left to do."""
        self.rooms = [WorkerMemory() for _ in range(self.workers)]
        self.helpers = Helpers(self.workers - 1)
        self.output = PrintfBuffer(at_least(1, "printf_buffer", printf_buffer))
        self.pending_launches = at_least(1, "pending_launches", pending_launches)
        self.stack = HARDWARE_STACK
        """Bytes that the local arrays of recursive calls of a thread may take."""
        self.heap = Heap(at_least(1, "heap", heap))
        self.unset = Unset()
        self.own: set[int] = set()
        """Allocations that are this device's own, and modules'."""
        self.callers: dict[int, tuple[str, int] | None] = {}
        """Under the sanitizer: the line that asked for each allocation."""
        self.origins: list[Origin] = []
        """The kernels that blocks of the device heap may come from, by their number in a launch's record."""
        self.read_only: tuple[tuple[int, int], ...] = ()
        """Address and bytes of what observed launches are only to read."""
        self.footprints: list[Footprint] | None = None
        """What observed launches used, where somebody collects it."""
        self.child_grids = GridCount()
        """What kernels launched, since the device was made."""
        self._origin_numbers: dict[tuple[int, Dim3], int] = {}
        self._arena: Arena | None = None
        self._handles = itertools.count(1)

    @property
    def properties(self) -> DeviceProperties:
        """Limits and rates of the chip."""
        return self.model.properties

    def _most_memory(self) -> int:
        return min(self.properties.total_memory, host_memory() * 3 // 4)

    @property
    def arena(self) -> Arena:
        """Global memory, reserved when first needed; OutOfAddressSpace."""
        if self._arena is None:
            if not self._memory_is_given:
                self.memory = affordable(self.memory, least=LEAST_MEMORY, times=_SHARES)
            # Gaps and alignment take room of their own, so the range is a little larger than what may be allocated.
            size = -(-(self.memory + self.memory // 4 + (64 << 20)) // PAGE) * PAGE
            self._arena = Arena(size, quarantine=QUARANTINE if self.sanitize else 0)
        return self._arena

    @functools.cached_property
    def shadow(self) -> Shadow:
        """What the sanitizer remembers of global memory."""
        return Shadow(self.arena)

    @functools.cached_property
    def touched(self) -> Touched:
        """What observed launches remember of the sectors they touched."""
        return Touched(self.arena)

    @functools.cached_property
    def grid_workspace(self) -> int:
        """Where the blocks of a cooperative grid meet."""
        address = self.allocate(WORKSPACE)
        self.own.add(address)
        return address

    def origin_of(self, kernel: str, tables: Tables, block: Dim3) -> int:
        """The number by which blocks of the device heap know the kernel that asked for them."""
        key = id(tables), block  # the origin keeps the tables alive
        if key not in self._origin_numbers:
            self._origin_numbers[key] = len(self.origins)
            self.origins.append(Origin(kernel, tables, block))
        return self._origin_numbers[key]

    def keep(self, fault: KernelFault) -> None:
        """Keep what a launch raises where nobody may look."""
        if self.home is not None and threading.current_thread() is not self.home:
            self.faults.append(fault)

    @functools.cached_property
    def objects(self) -> ObjectTable:
        """Texture and surface objects."""
        return ObjectTable()

    @contextmanager
    def scheduled(self, schedule: Schedule | None) -> Iterator[VirtualGPU]:
        """Has all launches on this device run in another order until the end of the `with`."""
        previous, self.schedule = self.schedule, checked_schedule(schedule)
        try:
            yield self
        finally:
            self.schedule = previous

    @contextmanager
    def reading_only(self, ranges: Iterable[tuple[int, int]]) -> Iterator[VirtualGPU]:
        """Has observed launches report stores to these (address, bytes), until the end of the `with`."""
        previous, self.read_only = self.read_only, tuple(ranges)
        try:
            yield self
        finally:
            self.read_only = previous

    def reset_workspace(self) -> None:
        """Nobody has come to the grid's barrier yet: a launch that was stopped there may have left it half full."""
        self.copy_in(self.grid_workspace, np.array([WORKSPACE] + [0] * (WORKSPACE // 4 - 1), np.uint32))

    def engine_run(self, worker: int) -> None:
        from gridstride.virtual.machine import engine

        engine.run(worker)

    # -- memory -------------------------------------------------------------------------------------------------------
    def allocate(self, nbytes: int, lead: int = 0, *, pages: bool = False) -> int:
        """Address of fresh device memory, `lead` bytes after a multiple of 256, or with pages to itself;
        OutOfDeviceMemory.
        """
        self._deferred.run()
        with self.lock:
            free = self.memory - self.arena.used
            address = self.arena.allocate(nbytes, lead, pages=pages) if nbytes <= free else None
            if address is None:
                raise OutOfDeviceMemory(
                    f"{self.name}: {nbytes} bytes asked for, {free} of {self.memory} are free; "
                    "VirtualGPU(memory=…) sets how much there is"
                )
            self.unset.allocated(address, nbytes)
            if self.sanitize:
                self.callers[address] = caller()
            return address

    def free(self, address: int) -> None:
        """Gives back what `allocate` gave."""
        with self.lock:
            self.objects.freed(address, self.arena.size_of(address) or 0)
            if not self.arena.free(address):
                gone = self.arena.freed_at(address)
                twice = f"{gone[1]} bytes at {address:#x} were freed already" if gone and gone[0] == address else None
                raise DeviceError(f"{self.name}: {twice or f'no allocation starts at {address:#x}'}")
            self.own.discard(address)
            self.callers.pop(address, None)
            self.unset.freed(address)

    def allocate_managed(self, nbytes: int) -> int:
        """Address of fresh device memory that the rest of this process may read and write, too."""
        address = self.allocate(nbytes)
        self.expose(address, nbytes)
        return address

    # All memory of this device lies in the host's, where it stays.
    allocate_pinned = allocate_managed

    def free_pinned(self, address: int) -> None:
        """Gives back what `allocate_pinned` gave."""
        self.free(address)

    def expose(self, address: int, nbytes: int) -> None:
        """Has the sanitizer take bytes for written: others in this process may write there, unseen."""
        with self.lock:
            self.unset.written(self.arena, address, nbytes)

    def give_away(self, stream: int | None) -> None:
        """Nothing is ever outstanding."""

    def holds(self, address: int, nbytes: int) -> bool:
        """Whether bytes of this process lie inside one of the device's allocations."""
        return self.arena.holds(address, nbytes)

    def abandon(self, end: Callable[..., object], *args: object) -> None:
        """Calls `end` of something that is gone: now or, while the device is in use, once it no longer is."""
        self._deferred.add(end, *args)

    def leaks(self) -> tuple[KernelFinding, ...]:
        """What is still allocated: by the host, and by malloc in kernels. Call it when all should be given back."""
        self._deferred.run()
        with self.lock:
            return tuple(leaks(self))

    def copy_in(self, address: int, host: np.ndarray[Any, Any]) -> None:
        """Copies a C-contiguous array to the device."""
        self._view(address, host)[:] = host.reshape(-1).view(np.uint8) if host.size else host.reshape(-1)
        self.unset.written(self.arena, address, host.nbytes)

    def forget(self, address: int, nbytes: int) -> None:
        """Has the sanitizer take bytes for ones that nothing has written, whatever the host has put there."""
        self.unset.forget(self.arena, address, nbytes)

    def copy_out(self, host: np.ndarray[Any, Any], address: int) -> None:
        """Fills a C-contiguous array from the device."""
        if host.size:
            host.reshape(-1).view(np.uint8)[:] = self._view(address, host)

    def copy_within(self, target: int, source: int, nbytes: int) -> None:
        """Copies bytes from one place on the device to another."""
        host = np.empty(nbytes, np.uint8)
        self.copy_out(host, source)
        self.copy_in(target, host)

    def _view(self, address: int, host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if host.nbytes and not self.arena.holds(address, host.nbytes):
            raise DeviceError(f"{self.name}: {host.nbytes} bytes at {address:#x} are not inside one allocation")
        return self.arena.view(address, host.nbytes) if host.nbytes else np.empty(0, host.dtype)

    # -- code ---------------------------------------------------------------------------------------------------------
    def load(self, ptx: str, *, source: str | None = None, filename: str = "<ptx>") -> VirtualModule:
        """Makes PTX runnable here; PtxError, or UnsupportedInstruction at a kernel's first launch."""
        with self.lock:
            return VirtualModule(self, (LinkInput(ptx, filename, source),))

    def link(self, pieces: Sequence[LinkInput]) -> VirtualModule:
        """Makes one module of several PTX texts; LinkError where their symbols do not fit together."""
        with self.lock:
            return VirtualModule(self, tuple(pieces))

    # -- time ---------------------------------------------------------------------------------------------------------
    @property
    def priorities(self) -> tuple[int, int]:
        """The least and the greatest priority of a stream, as NVIDIA's GPUs have them; nothing overtakes here."""
        return PRIORITIES

    def stream(self, priority: int = 0) -> VirtualStream:
        """A new stream; work on the virtual GPU is done when a call returns."""
        return VirtualStream(next(self._handles))

    def event(self, timing: bool = True) -> VirtualEvent:
        """A new event."""
        return VirtualEvent()

    def recording(self) -> VirtualRecording:
        """A new recording, which runs the work in its order when it is launched."""
        return VirtualRecording()

    def synchronize(self) -> None:
        """Nothing is ever outstanding: a launch returns when it is done."""

    def __repr__(self) -> str:
        return f"<{self.name}: {self.properties.name}, {self.workers} workers{', sanitize' if self.sanitize else ''}>"
