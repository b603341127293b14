"""Memory pools of stream-ordered allocation: what each holds of the device's memory, and when it gives it back.

An allocation lies in the arena by itself, so that its bounds are watched. A pool is the reckoning beside it: in ranges
of addresses that are nobody's, it hands out what has been freed, asks the device for more where nothing fits, and gives
back above its release threshold when the host waits. Any stream may have what any other has freed, as the policies of
reuse allow unless a program turns them off.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GRANULE = 2 << 20
"""Bytes that a pool grows by a multiple of: the least that the driver maps at once. NVIDIA's pools may take more."""
ALIGNMENT = 512
"""Bytes that allocations are a multiple of, as an H200's addresses from cudaMallocAsync are."""
DEFAULT = 0
"""The number of the device's own pool."""


@dataclass(slots=True)
class Range:
    """Bytes of a chunk from `start`, free or not."""

    start: int
    bytes: int
    free: bool = True


@dataclass(slots=True)
class Pool:
    """Chunks of the device's memory, each cut into ranges. Sizes in bytes; `high` are the most that there ever were,
    `most` is what it may reserve, 0 for any.
    """

    most: int = 0
    threshold: int = 0
    reserved: int = 0
    used: int = 0
    reserved_high: int = 0
    used_high: int = 0
    chunks: list[list[Range]] = field(default_factory=list)

    def _fitting(self, nbytes: int) -> tuple[int, list[tuple[int, int]]]:
        """What so many bytes take, and the free ranges that have it: size and chunk of each."""
        needed = -(-nbytes // ALIGNMENT) * ALIGNMENT
        return needed, [(r.bytes, i) for i, c in enumerate(self.chunks) for r in c if r.free and r.bytes >= needed]

    def has_room(self, nbytes: int) -> bool:
        """Whether so many bytes can be taken: there, or by growing as far as it may."""
        if not self.most:
            return True
        needed, fitting = self._fitting(nbytes)
        most = -(-self.most // GRANULE) * GRANULE
        return bool(fitting) or self.reserved + -(-needed // GRANULE) * GRANULE <= most

    def take(self, nbytes: int) -> tuple[Range, bool]:
        """Room for so many bytes, the smallest that fits, and whether the pool had to grow for it."""
        needed, fitting = self._fitting(nbytes)
        if not fitting:
            self._grow(-(-needed // GRANULE) * GRANULE)
        chunk = self.chunks[min(fitting)[1] if fitting else -1]
        at, room = min(((k, r) for k, r in enumerate(chunk) if r.free and r.bytes >= needed), key=lambda e: e[1].bytes)
        if room.bytes > needed:
            chunk.insert(at + 1, Range(room.start + needed, room.bytes - needed))
        room.bytes, room.free = needed, False
        self.used += needed
        self.used_high = max(self.used_high, self.used)
        return room, not fitting

    def _grow(self, nbytes: int) -> None:
        self.chunks.append([Range(0, nbytes)])
        self.reserved += nbytes
        self.reserved_high = max(self.reserved_high, self.reserved)

    def put_back(self, room: Range) -> None:
        """What `take` gave is free again, in one piece with what is free beside it."""
        room.free = True
        self.used -= room.bytes
        for chunk in self.chunks:
            if any(range_ is room for range_ in chunk):
                chunk[:] = _joined(chunk)

    def trim(self, keep: int) -> None:
        """Gives whole chunks back to the device until no more than `keep` bytes are held, or none is free."""
        for chunk in reversed(self.chunks.copy()):
            if self.reserved > keep and len(chunk) == 1 and chunk[0].free:
                self.chunks = [kept_chunk for kept_chunk in self.chunks if kept_chunk is not chunk]
                self.reserved -= chunk[0].bytes


def _joined(chunk: list[Range]) -> list[Range]:
    joined: list[Range] = []
    for range_ in chunk:
        if joined and joined[-1].free and range_.free:
            joined[-1].bytes += range_.bytes
        else:
            joined.append(range_)
    return joined


class Pools:
    """The pools of a program, by number. `growths`: how often one of them asked the device for memory."""

    def __init__(self) -> None:
        self._pools: dict[int, Pool] = {DEFAULT: Pool()}
        self._rooms: dict[int, tuple[Pool, Range]] = {}
        self._created = 0
        self.allocations = self.growths = 0

    def create(self, most: int = 0) -> int:
        """The number of a new pool, that may reserve so many bytes."""
        self._created += 1
        self._pools[self._created] = Pool(most)
        return self._created

    def destroy(self, number: int) -> None:
        """Its memory goes back with the last of its allocations."""
        self._pools.pop(number)

    def __getitem__(self, number: int) -> Pool:
        return self._pools[number]

    def allocated(self, number: int, address: int, nbytes: int) -> None:
        """An allocation of a pool's has been given this address."""
        pool = self._pools[number]
        room, grew = pool.take(nbytes)
        self._rooms[address] = pool, room
        self.allocations += 1
        self.growths += grew

    def freed(self, address: int) -> None:
        """Memory at this address is free again; other memory than a pool's is no affair of theirs."""
        if address in self._rooms:
            pool, room = self._rooms.pop(address)
            pool.put_back(room)

    def waited(self) -> None:
        """The host has waited: each pool gives back what it holds beyond its release threshold."""
        for pool in self._pools.values():
            if pool.reserved > pool.threshold:
                pool.trim(pool.threshold)
