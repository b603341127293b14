"""Counters of accesses to memory, in the order of their slots."""

from __future__ import annotations

KINDS = ("load", "bypass", "store", "atomic")
"""Of an access: `bypass` is a load that does not look into L1 (ld.cg, volatile, relaxed, acquire)."""

COUNTERS = ("requests", "sectors", "lines", "wavefronts", "ideal", "lanes", "contended", "missed", "fetched")
"""Per site, in this order. `ideal`: the wavefronts (shared) or sectors (global) that the bytes need at least;
`contended`: lanes of an atomic that meet an address of another lane; `missed`: sectors that go on to L2; `fetched`: the
lines that they are of."""

WAYS = 8
"""Lines in a set of L1."""

PAGE_SHIFT = 12
"""Sectors that a byte behind a map of what was touched stands for, as a power of two: 128 KB of global memory."""
