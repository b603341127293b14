"""Memory as a program's runtime asks for it: allocations, pools, and what one GPU may see of another's."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from gridstride.programs.calls.activity import Activity, Failures
from gridstride.programs.calls.peers import Peers
from gridstride.programs.calls.pools import Pool, Pools
from gridstride.programs.calls.status import Status
from gridstride.programs.process.reports import Reports
from gridstride.protocol import OutOfDeviceMemory
from gridstride.virtual.gpu import VirtualGPU

MEMORY_CALLS = (
    *("allocate", "release", "written", "holds", "free_memory", "peer_access"),
    *("create_pool", "destroy_pool", "pooled", "imported", "pool_access", "trim_pool", "pool_attribute"),
)
"""The callbacks that are methods of MemoryCalls."""
_MOST_GARBAGE = 1 << 26  # bytes of an allocation: one of most of a chip's memory would take as much of this machine's
_GARBAGE = 0x7F  # in each byte: no small whole number, no float that sums with others
_POOL_THRESHOLD = 4
_POOL_SIZES = {4: "threshold", 5: "reserved", 6: "reserved_high", 7: "used", 8: "used_high"}
"""By the number of cudaMemPoolAttr."""
_POOL_HIGH = {6: "reserved_high", 8: "used_high"}
"""Those that a program may set to 0: they then begin anew with what there is."""


class MemoryCalls:
    """The memory of one virtual GPU, or of several that share its arena. `memory`: bytes that each GPU has, of its
    share of the device's; all of that where it is None.
    """

    def __init__(
        self, device: VirtualGPU, reports: Reports, activity: Activity, failures: Failures, peers: Peers,
        memory: int | None,
    ) -> None:  # fmt: skip
        self.device, self.activity, self.peers, self._failures = device, activity, peers, failures
        self.pools = Pools()
        self._bytes_per_device = self.activity.memory_bytes = self._share(memory, reports)
        self._lock = threading.RLock()
        self.on_allocation: Callable[[int, int, bool], None] | None = None
        """Is told of address and bytes of each allocation, and whether the host uses it by itself."""
        self.on_release: Callable[[int], None] | None = None
        self.make_room: Callable[[], object] = lambda: None
        """Is called where there is none, before an allocation fails."""
        self._given_back: dict[int, int] = {}
        self.garbage = False
        """Whether new memory holds what nobody would take for a number of his."""

    def _share(self, size: int | None, reports: Reports) -> int:
        """Bytes that one GPU has: several share what one would have alone."""
        share = self.device.memory // self.peers.count
        if size is not None and size > share:
            reports.say(f"warning: a GPU has {share} bytes of memory here, not the {size} asked for")
        return share if size is None else min(share, size)

    def allocate(self, nbytes: int, owner: int) -> int:
        if self._failures.due("allocation"):
            return 0
        address = self._find_room(nbytes, owner)
        if address is None:
            self.make_room()
            address = self._find_room(nbytes, owner)
        if address is None:
            return 0
        self.device.callers.pop(address, None)  # a line of Python's, which the user never wrote
        if self.garbage and owner >= 0:
            ctypes.memset(address, _GARBAGE, min(nbytes, _MOST_GARBAGE))
        self.activity.allocated(nbytes)
        self.peers.allocated(address, nbytes, owner)
        if owner >= 0:
            self.activity.held_most(self.peers.used(owner))
        if self.on_allocation is not None:
            self.on_allocation(address, nbytes, owner < 0)
        return address

    def _find_room(self, nbytes: int, owner: int) -> int | None:
        if owner >= 0 and nbytes > self.left(owner):
            return None
        try:
            # under the sanitizer pages tell when the host uses what work still uses (stream_order.py)
            return self.device.allocate(nbytes, pages=owner < 0 and self.on_release is not None)
        except OutOfDeviceMemory:
            return None

    def given_back(self, address: int) -> None:
        """The host has freed it, and work still uses it: it counts no more, and is released later."""
        with self._lock:
            self._given_back[address] = self.device.arena.size_of(address) or 0
        self.peers.given_back(address)

    def release(self, address: int) -> int:
        if self.device.arena.size_of(address) is None or address in self.device.own:
            return Status.INVALID_VALUE
        if self.on_release is not None:
            self.on_release(address)
        self.peers.freed(address)  # before another thread can be given the address
        self.device.free(address)
        with self._lock:
            self._given_back.pop(address, None)
            self.pools.freed(address)
        return Status.SUCCESS

    def written(self, address: int, nbytes: int) -> None:
        with self.device.lock:
            self.device.unset.written(self.device.arena, address, nbytes)

    def holds(self, address: int, nbytes: int) -> int:
        with self.device.lock:
            return int(self.device.arena.holds(address, nbytes))

    def left(self, device: int) -> int:
        """Bytes that a GPU has yet."""
        return self._bytes_per_device - self.peers.used(device)

    def free_memory(self, device: int, available: Any, total: Any) -> None:
        total[0] = self._bytes_per_device
        with self._lock:
            used = self.device.arena.used - sum(self._given_back.values())
        available[0] = max(0, min(self.device.memory - used, self.left(device)))

    def peer_access(self, device: int, peer: int, enabled: int) -> int:
        self.peers.enable(device, peer, enabled=bool(enabled))
        return Status.SUCCESS

    # -- memory pools -------------------------------------------------------------------------------------------------
    def create_pool(self, most: int) -> int:
        with self._lock:
            return self.pools.create(most)

    def destroy_pool(self, pool: int) -> None:
        with self._lock:
            self.pools.destroy(pool)

    def pooled(self, pool: int, address: int, nbytes: int) -> int:
        if not self._fits(pool, nbytes):
            self.make_room()
        with self._lock:
            if not self.pools[pool].has_room(nbytes):
                return Status.MEMORY_ALLOCATION
            self.pools.allocated(pool, address, nbytes)
        self.peers.pooled(address, pool)
        return Status.SUCCESS

    def _fits(self, pool: int, nbytes: int) -> bool:
        with self._lock:
            return self.pools[pool].has_room(nbytes)

    def imported(self, pool: int, address: int) -> None:
        """Memory of another process' pool: who reaches it is said of the pool, as it stands here."""
        self.peers.pooled(address, pool)

    def pool_access(self, pool: int, device: int, enabled: int) -> None:
        self.peers.enable_pool(pool, device, enabled=bool(enabled))

    def trim_pool(self, pool: int, keep: int) -> None:
        with self._lock:
            self.pools[pool].trim(keep)

    def pool_attribute(self, pool: int, attribute: int, setting: int, value: Any) -> int:
        with self._lock:
            if not setting:
                return _read_attribute(self.pools[pool], attribute, value)
            return _set_attribute(self.pools[pool], attribute, value[0])

    def host_waited(self) -> None:
        """Pools give back what lies above their thresholds."""
        if self.pools.allocations:  # else they hold nothing
            with self._lock:
                self.pools.waited()


def _read_attribute(pool: Pool, attribute: int, value: Any) -> int:
    if attribute not in _POOL_SIZES:
        return Status.INVALID_VALUE
    value[0] = getattr(pool, _POOL_SIZES[attribute])
    return Status.SUCCESS


def _set_attribute(pool: Pool, attribute: int, value: int) -> int:
    if attribute == _POOL_THRESHOLD:
        pool.threshold = value
    elif attribute in _POOL_HIGH and value == 0:
        setattr(pool, _POOL_HIGH[attribute], getattr(pool, _POOL_HIGH[attribute].removesuffix("_high")))
    else:
        return Status.INVALID_VALUE
    return Status.SUCCESS
