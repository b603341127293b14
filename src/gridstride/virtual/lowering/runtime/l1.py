"""What the observed build remembers of global memory: a picture of the block's L1, and which sectors were touched."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.lowering.ir import Builder, Value, constant
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, WARP, WORKER

WAYS = 8
"""Lines in a set of L1."""

PAGE_SHIFT = 12
"""Sectors that a byte behind a map of what was touched stands for, as a power of two: 128 KB of global memory."""


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
    def of(b: Builder, warp: Value, kind: str) -> Memory:
        worker = b.get(warp, WARP, "worker")
        block = b.get(b.get(warp, WARP, "block"), BLOCK, "index")
        ways = {"read_map": ("load", "bypass", "atomic"), "write_map": ("store", "atomic"), "atomic_map": ("atomic",)}
        maps = tuple(b.get(worker, WORKER, way) for way, kinds in ways.items() if kind in kinds)
        cache, sets, low, size = (b.get(worker, WORKER, f) for f in ("cache", "cache_sets", "map_low", "map_size"))
        return Memory(b.op("shl", block, i64(44)), cache, sets, maps, low, size)


def probe(b: Builder, memory: Memory, line: Value, sectors: Value) -> Value:
    """Looks a line up in the L1 of the block: which of the sectors are not there; they are then.

    Sets of WAYS lines, of which the one that came first goes; lines are spread over the sets by a hash.
    """
    spread = b.op("lshr", b.op("mul", line, i64(0x9E3779B97F4A7C15)), i64(32))
    index = b.op("lshr", b.op("mul", spread, memory.sets), i64(32))
    place = b.offset(memory.cache, b.op("mul", index, i64(8 * WAYS)))
    tag, result = b.op("or", memory.tag, b.op("shl", line, i64(4))), b.alloca("i32")
    held = b.load(f"<{WAYS} x i64>", place, align=8)
    tags = b.op("and", held, constant(held.type, -16))
    found = b.bitcast(b.compare("eq", tags, b.splat(tag, WAYS)), f"i{WAYS}")
    hit, miss, done = b.new_label("hit"), b.new_label("miss"), b.new_label("probed")
    b.branch(b.compare("ne", found, constant(f"i{WAYS}", 0)), hit, miss)
    b.start(miss)
    fresh = b.op("or", tag, b.resize(sectors, "i64"))
    b.store(b.insert(b.shuffle(held, [0, *range(WAYS - 1)]), fresh, 0), place, align=8)
    b.store(sectors, result)
    b.jump(done)
    b.start(hit)
    way = b.call(f"i{WAYS}", f"llvm.cttz.i{WAYS}", found, constant("i1", True))
    here = b.offset(place, b.op("shl", b.resize(way, "i64"), i64(3)))
    entry = b.load("i64", here)
    b.store(b.op("or", entry, b.resize(sectors, "i64")), here)
    valid = b.op("and", b.resize(entry, "i32"), i32(15))
    b.store(b.op("and", sectors, b.op("xor", valid, i32(15))), result)
    b.jump(done)
    b.start(done)
    return b.load("i32", result)


def mark(b: Builder, map_: Value, low: Value, size: Value, line: Value, sectors: Value) -> None:
    """Remembers sectors of a line as touched: a byte each, for workers write side by side."""
    first = b.op("sub", b.op("shl", line, i64(2)), low)
    with b.if_(b.compare("ult", b.op("add", first, i64(3)), size)):
        place = b.pointer(b.op("add", map_, first))
        page = b.op("add", size, b.op("lshr", first, i64(PAGE_SHIFT)))
        b.store(constant("i8", 1), b.pointer(b.op("add", map_, page)))
        whole, part, done = b.new_label("whole"), b.new_label("part"), b.new_label("marked")
        b.branch(b.compare("eq", sectors, i32(15)), whole, part)
        b.start(whole)
        b.store(i32(0x01010101), place, align=1)
        b.jump(done)
        b.start(part)
        with b.lanes(sectors) as sector:
            b.store(constant("i8", 1), b.offset(place, b.resize(sector, "i64")))
        b.jump(done)
        b.start(done)
