"""Which of global memory was never written, as far as the host knows; the shadow that observed kernels read and mark.

An allocation starts unset; copies from the host set it. It gets its bytes in the shadow when an observed launch begins.
A launch of the fast build may write anywhere without a trace, so after one all that is there counts as set.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.virtual.abi.memory_records import UNSET_SHIFT
from gridstride.virtual.machine.memory.addresses import reserve

if TYPE_CHECKING:
    from gridstride.virtual.machine.memory.arena import Arena

SLACK = 64
"""Bytes behind the shadow, which is read in words."""


class Unset:
    """Not locked: the device does that."""

    def __init__(self) -> None:
        self._new: dict[int, int] = {}
        self._painted: dict[int, int] = {}
        """Start and bytes of allocations of which nothing is set, and of those whose state the shadow holds."""
        self._memory: mmap.mmap | None = None
        self._low = 0

    def allocated(self, start: int, size: int) -> None:
        """All of it is unset."""
        self._new[start] = size

    def freed(self, start: int) -> None:
        """Nobody asks any more."""
        self._new.pop(start, None)
        size = self._painted.pop(start, 0)
        if size:
            self._paint(start, size, 0)

    def written(self, arena: Arena, address: int, size: int) -> None:
        """The host has written there."""
        if not self._new and not self._painted:
            return
        if self._new.get(address) == size:
            del self._new[address]
        elif self._painted.get(address) == size:
            self.freed(address)
        else:
            self._change(arena, address, size, 0)

    def forget(self, arena: Arena, address: int, size: int) -> None:
        """What the host has written there means nothing: reading it is a mistake."""
        if arena.size_of(address) == size:
            self._painted.pop(address, None)
            self._new[address] = size
        else:
            self._change(arena, address, size, 1)

    def _change(self, arena: Arena, address: int, size: int, value: int) -> None:
        near = arena.nearest(address)
        if near is None or near.distance:
            return
        if near.start in self._new:
            self._open(arena)
            self._paint(near.start, self._new.pop(near.start), 1)
            self._painted[near.start] = near.size
        elif value:
            self._open(arena)
            self._painted[near.start] = near.size
        if near.start in self._painted:
            self._paint(address, size, value)

    def all_set(self) -> None:
        """A kernel has run that leaves no trace of what it writes."""
        self._new.clear()
        for start in tuple(self._painted):
            self.freed(start)

    @property
    def empty(self) -> bool:
        return not self._new and not self._painted

    def shadow(self, arena: Arena) -> tuple[int, int, int]:
        """(address of the shadow, start, bytes) of the part of global memory that has anything unset."""
        address = self._open(arena)
        for start, size in self._new.items():
            self._paint(start, size, 1)
        self._painted |= self._new
        self._new.clear()
        if not self._painted:
            return address, arena.base, 0
        low = min(self._painted)
        end = max(start + size for start, size in self._painted.items())
        return address + (low - arena.base >> UNSET_SHIFT), low, end - low

    def _open(self, arena: Arena) -> int:
        if self._memory is None:
            self._memory, self._address = reserve((arena.size >> UNSET_SHIFT) + SLACK)
            self._low = arena.base
        return self._address

    def _paint(self, start: int, size: int, value: int) -> None:
        """Words that are whole become unset, words of which any byte is touched become set."""
        assert self._memory is not None
        first = start - self._low
        word, rounding = 1 << UNSET_SHIFT, 0 if value == 0 else (1 << UNSET_SHIFT) - 1
        begin = first + rounding >> UNSET_SHIFT
        end = first + size + (word - 1) >> UNSET_SHIFT
        view: np.ndarray[Any, Any] = np.frombuffer(self._memory, np.uint8, max(0, end - begin), begin)
        view[:] = value
