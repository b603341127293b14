"""The shadow of unset memory, word by word: what the checks of each kind of memory share."""

from __future__ import annotations

from gridstride.virtual.abi.memory_records import UNSET_SHIFT
from gridstride.virtual.ir.builder import Builder, Value, wide

WORD_BYTES = 1 << UNSET_SHIFT
"""Bytes for which global memory has one byte of shadow."""

HEAD = ("warp* warp", "i32 mask", f"{wide('i64')} address", "i32 size")
"""Parameters of what checks or marks an access: the lanes in `mask`, and `size` bytes at each one's address."""


def add_lane(b: Builder, mask: Value, lane: Value, condition: Value) -> None:
    """Adds a lane to a mask in memory where a condition holds."""
    b.store(b.load("i32", mask) | (b.resize(condition, "i32") << lane), mask)


def words_of(b: Builder, size: Value) -> Value:
    """Words that so many bytes touch, from the start of one."""
    return (size + (WORD_BYTES - 1)) >> UNSET_SHIFT
