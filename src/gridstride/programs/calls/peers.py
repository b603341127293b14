"""Several GPUs behind one arena: whose memory an allocation is, and which GPU's kernels reach it."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gridstride.virtual.machine.memory.owners import EVERYONE, FREED, HOST

if TYPE_CHECKING:
    from gridstride.virtual.findings.finding import KernelFinding
    from gridstride.virtual.machine.memory.arena import Arena

MOST = 16
"""GPUs that a program may see: GS_MOST_DEVICES of runtime.h, as many as the largest NVSwitch machines of one host."""


@dataclass(frozen=True, slots=True)
class _Memory:
    """`pool`: of what came from a memory pool, its number; who reaches it is the pool's to say."""

    owner: int
    nbytes: int
    pool: int | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Memory of other GPUs and of the host: where each allocation begins, ascending, the byte behind it, and whose it
    is.
    """

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()

    def owner(self, address: int) -> int | None:
        """Whose memory it is; None for memory of the GPU itself, and for what all GPUs have."""
        at = bisect.bisect_right(self.starts, address) - 1
        return self.owners[at] if at >= 0 and address < self.ends[at] else None


NOWHERE = Elsewhere()


@dataclass(slots=True)
class Peers:
    """Owners of allocations, and who may reach them; from any thread. Its lock is the last that a thread takes."""

    count: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _memory: dict[int, _Memory] = field(default_factory=dict)
    _used: dict[int, int] = field(default_factory=dict)
    _enabled: set[tuple[int, int]] = field(default_factory=set)
    _pools: set[tuple[int, int]] = field(default_factory=set)
    _hidden: dict[int, Mapping[int, int]] = field(default_factory=dict)
    _elsewhere: dict[int, Elsewhere] = field(default_factory=dict)

    def allocated(self, address: int, nbytes: int, owner: int) -> None:
        """Memory of `owner`, a GPU, EVERYONE or HOST."""
        with self._lock:
            self._memory[address] = _Memory(owner, nbytes)
            self._used[owner] = self._used.get(owner, 0) + nbytes
            self._forget()

    def pooled(self, address: int, pool: int) -> None:
        """It came from a pool."""
        with self._lock:
            self._memory[address] = replace(self._memory[address], pool=pool)
            self._hidden.clear()

    def leak_in_words(self, leak: KernelFinding) -> KernelFinding:
        """What the sanitizer says is still there, with the call that gives it back."""
        with self._lock:
            memory = self._memory.get(leak.address or 0)
        if memory is None:
            return leak
        if memory.owner == HOST:  # rounded up to pages where it was registered
            message = "host memory is still pinned: cudaFreeHost, or cudaHostUnregister for what was registered"
        else:
            message = f"{leak.message}; cudaFree gives it back, cudaFreeAsync what is a pool's"
        return replace(leak, message=message)

    def freed(self, address: int) -> None:
        """It is gone."""
        with self._lock:
            memory = self._memory.pop(address, None)
            if memory is not None:
                self._used[memory.owner] -= memory.nbytes
                self._forget()

    def given_back(self, address: int) -> None:
        """It counts no more, and is still there for who uses it."""
        with self._lock:
            memory = self._memory[address]
            self._used[memory.owner] -= memory.nbytes
            self._memory[address] = replace(memory, nbytes=0)

    def _forget(self) -> None:
        self._hidden.clear()
        self._elsewhere.clear()

    def used(self, device: int) -> int:
        """Bytes that are a GPU's."""
        return self._used.get(device, 0)

    def enable(self, device: int, peer: int, *, enabled: bool) -> None:
        """Whether kernels of `device` reach what cudaMalloc gave on `peer`."""
        with self._lock:
            _change(self._enabled, (device, peer), enabled)
            self._hidden.clear()

    def are_enabled(self, first: int, second: int) -> bool:
        """Whether one of two may use the other's memory, so that copies go straight."""
        return bool({(first, second), (second, first)} & self._enabled)

    def enable_pool(self, pool: int, device: int, *, enabled: bool) -> None:
        """Whether kernels of `device` reach what a pool of another GPU gave."""
        with self._lock:
            _change(self._pools, (pool, device), enabled)
            self._hidden.clear()

    def show(self, arena: Arena, device: int, gone: Collection[int] = ()) -> None:
        """Has the next launch reach what this GPU may reach, but nothing `gone`; the caller holds the device."""
        if self.count == 1 and not gone and not arena.hidden:
            return
        with self._lock:
            if device not in self._hidden:
                self._hidden[device] = {a: m.owner for a, m in self._memory.items() if not self._reaches(device, m)}
            hidden = self._hidden[device]
        arena.hide({**hidden, **dict.fromkeys(gone, FREED)} if gone else hidden)

    def elsewhere(self, device: int) -> Elsewhere:
        """What is other GPUs' than this one, or the host's."""
        with self._lock:
            if self.count == 1 and not self._used.get(HOST):
                return NOWHERE
            if device not in self._elsewhere:
                on_other_devices = [(a, m) for a, m in sorted(self._memory.items(), key=lambda item: item[0])
                          if m.owner not in (device, EVERYONE)]  # fmt: skip
                self._elsewhere[device] = Elsewhere(
                    tuple(a for a, _ in on_other_devices), tuple(a + m.nbytes for a, m in on_other_devices),
                    tuple(m.owner for _, m in on_other_devices),
                )  # fmt: skip
            return self._elsewhere[device]

    def _reaches(self, device: int, memory: _Memory) -> bool:
        if memory.owner in (device, EVERYONE, HOST):
            return True
        if memory.pool is not None:
            return (memory.pool, device) in self._pools
        return (device, memory.owner) in self._enabled


def _change(pairs: set[tuple[int, int]], pair: tuple[int, int], present: bool) -> None:
    if present:
        pairs.add(pair)
    else:
        pairs.discard(pair)
