"""What the observed build remembers of global memory: a picture of the block's L1, and which sectors were touched."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.access_counters import PAGE_SHIFT, WAYS
from gridstride.virtual.abi.execution_records import WORKER
from gridstride.virtual.ir.builder import Builder, Record, Value, constant
from gridstride.virtual.runtime.common import i32


@dataclass(frozen=True, slots=True)
class Memory:
    """What an access is told to: L1, and the maps of what was touched; read once, for the loops over lines."""

    tag: Value
    cache: Value
    sets: Value
    maps: tuple[Value, ...]
    low: Value
    size: Value

    @staticmethod
    def of(b: Builder, warp: Record, kind: str) -> Memory:
        worker = warp.worker
        block = warp.block.index
        ways = {"read_map": ("load", "bypass", "atomic"), "write_map": ("store", "atomic"), "atomic_map": ("atomic",)}
        maps = tuple(b.get(worker, WORKER, way) for way, kinds in ways.items() if kind in kinds)
        cache, sets, low, size = worker.cache, worker.cache_sets, worker.map_low, worker.map_size
        return Memory(block << 44, cache, sets, maps, low, size)


def probe(b: Builder, memory: Memory, line: Value, sectors: Value) -> Value:
    """Looks a line up in the L1 of the block: which of the sectors are not there; they are then.

    Sets of WAYS lines, of which the one that came first goes; lines are spread over the sets by a hash.
    """
    spread = (line * 0x9E3779B97F4A7C15) >> 32
    index = (spread * memory.sets) >> 32
    pointer = b.offset(memory.cache, index * (8 * WAYS))
    tag, result = memory.tag | (line << 4), b.alloca("i32")
    held = b.load(f"<{WAYS} x i64>", pointer, align=8)
    tags = held & -16
    matches = b.bitcast(tags == b.splat(tag, WAYS), f"i{WAYS}")
    hit, miss, done = b.new_label("hit"), b.new_label("miss"), b.new_label("probed")
    b.branch(matches != 0, hit, miss)
    b.start(miss)
    fresh = tag | b.resize(sectors, "i64")
    b.store(b.insert(b.shuffle(held, [0, *range(WAYS - 1)]), fresh, 0), pointer, align=8)
    b.store(sectors, result)
    b.jump(done)
    b.start(hit)
    way = b.call(f"i{WAYS}", f"llvm.cttz.i{WAYS}", matches, constant("i1", True))
    way_pointer = b.offset(pointer, b.resize(way, "i64") << 3)
    entry = b.load("i64", way_pointer)
    b.store(entry | b.resize(sectors, "i64"), way_pointer)
    valid = b.resize(entry, "i32") & 15
    b.store(sectors & (valid ^ 15), result)
    b.jump(done)
    b.start(done)
    return b.load("i32", result)


def mark(b: Builder, map_: Value, low: Value, size: Value, line: Value, sectors: Value) -> None:
    """Remembers sectors of a line as touched: a byte each, for workers write side by side."""
    first = (line << 2) - low
    with b.if_(first + 3 < size):
        pointer = b.pointer(map_ + first)
        page = size + (first >> PAGE_SHIFT)
        b.store(constant("i8", 1), b.pointer(map_ + page))
        full, part, done = b.new_label("whole"), b.new_label("part"), b.new_label("marked")
        b.branch(sectors == 15, full, part)
        b.start(full)
        b.store(i32(0x01010101), pointer, align=1)
        b.jump(done)
        b.start(part)
        with b.lanes(sectors) as sector:
            b.store(constant("i8", 1), b.offset(pointer, b.resize(sector, "i64")))
        b.jump(done)
        b.start(done)
