"""The runtime's counting of accesses to global memory: requests, sectors, lines, what L1 would miss.

The lanes of a request are sorted into the 128-byte lines that they touch, each with a mask of its four sectors. Addresses
that never fall from lane to lane, the usual case, are visited once for each sector rather than for each lane.

An atomic's lanes go out in packets of one line, in the order of the lanes; one that meets an address already in its
packet opens the next, as the hardware does (tests/virtual/fixtures/kernels_ncu_h200.json: 20000 sectors for 20000 adds
to one address).
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, LANES, WARP, WORKER

KINDS = ("load", "bypass", "store", "atomic")
"""Of an access: `bypass` is a load that does not look into L1 (ld.cg, volatile, relaxed, acquire)."""

COUNTERS = ("requests", "sectors", "lines", "wavefronts", "ideal", "lanes", "contended", "missed", "fetched")
"""Per site, in this order. `ideal`: the wavefronts (shared) or sectors (global) that the bytes need at least;
`contended`: lanes of an atomic that meet an address of another lane; `missed`: sectors that go on to L2; `fetched`: the lines that they are of."""

WAYS = 8
"""Lines in a set of L1."""

SLOTS = 64
"""Of the table that a request's lines are sorted into: twice as many as there can be."""


@dataclass(frozen=True, slots=True)
class Table:
    """Stack slots: `keys` are line + 1, 0 where empty; `order` says which slots were taken, one after the other."""

    keys: Value
    bits: Value
    words: Value
    order: Value
    count: Value

    @staticmethod
    def of(b: Builder) -> Table:
        keys = b.alloca(f"[{SLOTS} x i64]", align=64)
        bits, words = (b.alloca(f"[{SLOTS} x i32]", align=64) for _ in range(2))
        return Table(keys, bits, words, b.alloca(f"[{LANES} x i32]", align=64), b.alloca("i32"))


def bump(b: Builder, warp: Value, at: Value, name: str, by: Value) -> None:
    """Adds to a counter of the site whose counters start at byte `at`."""
    counter = b.offset(b.offset(b.get(warp, WARP, "counters"), at), 8 * COUNTERS.index(name))
    b.store(b.op("add", b.load("i64", counter), b.resize(by, "i64")), counter)


def popcount(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.ctpop.i32", mask)


def unless_idle(b: Builder, mask: Value) -> None:
    """Returns where no lane executes the access."""
    with b.if_(b.compare("eq", mask, i32(0))):
        b.ret()


def visited(b: Builder, mask: Value, keys: Value) -> tuple[Value, Value]:
    """(an i1: the keys never fall over the lanes of the mask, the first lane of each different key where they do not)."""
    active = b.bitcast(mask, wide("i1"))
    filled = b.select(active, keys, constant(keys.type, -1))
    before = b.shuffle(filled, [0, *range(LANES - 1)])
    rising = b.compare("eq", b.bitcast(b.compare("uge", filled, before), "i32"), i32(-1))
    changes = b.op("or", b.bitcast(b.compare("ne", filled, before), "i32"), i32(1))
    return rising, b.op("and", changes, mask)


def emit_lines(m: Module) -> None:
    """gs_count_global_KIND(warp, at, mask, address, size) for each of KINDS, and gs_count_local."""
    for kind in KINDS:
        _count_global(m, kind)
    _probe(m)
    _mark(m)
    _count_local(m)
    _count_const(m)


def _count_global(m: Module, kind: str) -> None:
    head = ("ptr warp", "i64 at", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", f"gs_count_global_{kind}", *head) as (b, (warp, at, mask, address, size)):
        unless_idle(b, mask)
        table, total, missed, contended = Table.of(b), b.alloca("i32"), b.alloca("i32"), b.alloca("i32")
        fetched = b.alloca("i32")
        for slot in (table.count, total, missed, contended, fetched):
            b.store(i32(0), slot)
        b.store(constant(f"<{SLOTS} x i64>", 0), table.keys, align=64)
        addresses = b.alloca(wide("i64"), align=64)
        b.store(address, addresses, align=64)
        if kind == "atomic":
            visit = mask
        else:
            rising, leaders = visited(b, mask, b.op("lshr", address, constant(address.type, 5)))
            visit = b.select(rising, leaders, mask)
        with b.lanes(visit) as lane:
            one = b.load("i64", b.offset(addresses, b.op("shl", b.resize(lane, "i64"), i64(3))))
            slot = _find(b, table, b.op("lshr", one, i64(7)))
            if kind == "atomic":
                _packet(b, table, slot, one, size, total, contended)
            here = b.offset(table.bits, slot)
            b.store(b.op("or", b.load("i32", here), _sector_bit(b, one)), here)
        _sum(b, kind, warp, table, (total, missed, fetched))
        lanes = popcount(b, mask)
        used = b.op("lshr", b.op("add", b.op("mul", lanes, size), i32(31)), i32(5))
        sectors, lines = b.load("i32", total), b.load("i32", table.count)
        figures = {"requests": i32(1), "sectors": sectors, "lines": lines, "ideal": used,
                   "lanes": lanes, "contended": b.load("i32", contended),
                   "missed": b.load("i32", missed) if kind == "load" else sectors,
                   "fetched": b.load("i32", fetched) if kind == "load" else lines}  # fmt: skip
        for name, value in figures.items():
            if name != "contended" or kind == "atomic":
                bump(b, warp, at, name, value)


def _sector_bit(b: Builder, address: Value) -> Value:
    return b.op("shl", i32(1), b.resize(b.op("and", b.op("lshr", address, i64(5)), i64(3)), "i32"))


def _find(b: Builder, table: Table, line: Value) -> Value:
    """Byte offset (of an i32) of the line's slot, taken now where it is new."""
    at, key = b.alloca("i64"), b.op("add", line, i64(1))
    b.store(b.op("and", b.op("xor", line, b.op("lshr", line, i64(6))), i64(SLOTS - 1)), at)
    with b.loop() as done:
        slot = b.load("i64", at)
        place = b.offset(table.keys, b.op("shl", slot, i64(3)))
        held = b.load("i64", place)
        b.break_if(b.compare("eq", held, key), done)
        empty, on = b.new_label("empty"), b.new_label("on")
        b.branch(b.compare("eq", held, i64(0)), empty, on)
        b.start(empty)
        b.store(key, place)
        for plane in (table.bits, table.words):
            b.store(i32(0), b.offset(plane, b.op("shl", slot, i64(2))))
        number = b.load("i32", table.count)
        b.store(b.resize(slot, "i32"), b.offset(table.order, b.op("shl", b.resize(number, "i64"), i64(2))))
        b.store(b.op("add", number, i32(1)), table.count)
        b.jump(done)
        b.start(on)
        b.store(b.op("and", b.op("add", slot, i64(1)), i64(SLOTS - 1)), at)
    return b.op("shl", b.load("i64", at), i64(2))


def _packet(b: Builder, table: Table, slot: Value, one: Value, size: Value, total: Value, contended: Value) -> None:
    """Closes the line's packet where it has the lane's words already."""
    place, here = b.offset(table.words, slot), b.offset(table.bits, slot)
    count = b.op("lshr", b.op("add", size, i32(3)), i32(2))
    ones = b.op("sub", b.op("shl", i32(1), count), i32(1))
    own = b.op("shl", ones, b.resize(b.op("and", b.op("lshr", one, i64(2)), i64(31)), "i32"))
    with b.if_(b.compare("ne", b.op("and", b.load("i32", place), own), i32(0))):
        b.store(b.op("add", b.load("i32", total), popcount(b, b.load("i32", here))), total)
        b.store(b.op("add", b.load("i32", contended), i32(1)), contended)
        b.store(i32(0), place)
        b.store(i32(0), here)
    b.store(b.op("or", b.load("i32", place), own), place)


def _sum(b: Builder, kind: str, warp: Value, table: Table, sums: tuple[Value, Value, Value]) -> None:
    """Adds up the sectors of all lines, and tells L1 and the map of memory of them."""
    total, missed, fetched = sums
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        k = b.load("i32", at)
        b.break_if(b.compare("uge", k, b.load("i32", table.count)), done)
        b.store(b.op("add", k, i32(1)), at)
        slot = b.load("i32", b.offset(table.order, b.op("shl", b.resize(k, "i64"), i64(2))))
        index = b.resize(slot, "i64")
        line = b.op("sub", b.load("i64", b.offset(table.keys, b.op("shl", index, i64(3)))), i64(1))
        sectors = b.load("i32", b.offset(table.bits, b.op("shl", index, i64(2))))
        b.store(b.op("add", b.load("i32", total), popcount(b, sectors)), total)
        if kind == "load":
            sectors = b.call("i32", "gs_l1_probe", warp, line, sectors)
            b.store(b.op("add", b.load("i32", missed), popcount(b, sectors)), missed)
            some = b.resize(b.compare("ne", sectors, i32(0)), "i32")
            b.store(b.op("add", b.load("i32", fetched), some), fetched)
        for way, kinds in (("read_map", ("load", "bypass", "atomic")), ("write_map", ("store", "atomic")),
                           ("atomic_map", ("atomic",))):
            if kind in kinds:
                b.call("void", "gs_map_mark", b.get(b.get(warp, WARP, "worker"), WORKER, way), warp, line, sectors)


def _probe(m: Module) -> None:
    """Looks a line up in the L1 of the block: which of the sectors are not there; they are then.

    Sets of WAYS lines, of which the one that came first goes; lines are spread over the sets by a hash.
    """
    with m.function("i32", "gs_l1_probe", "ptr warp", "i64 line", "i32 sectors") as (b, (warp, line, sectors)):
        worker = b.get(warp, WARP, "worker")
        block = b.get(b.get(warp, WARP, "block"), BLOCK, "index")
        spread = b.op("lshr", b.op("mul", line, i64(0x9E3779B97F4A7C15)), i64(32))
        index = b.op("lshr", b.op("mul", spread, b.get(worker, WORKER, "cache_sets")), i64(32))
        place = b.offset(b.get(worker, WORKER, "cache"), b.op("mul", index, i64(8 * WAYS)))
        tag = b.op("or", b.op("shl", block, i64(44)), b.op("shl", line, i64(4)))
        held = b.load(f"<{WAYS} x i64>", place, align=8)
        tags = b.op("and", held, constant(held.type, -16))
        found = b.bitcast(b.compare("eq", tags, b.splat(tag, WAYS)), f"i{WAYS}")
        with b.if_(b.compare("eq", found, constant(f"i{WAYS}", 0))):
            fresh = b.op("or", tag, b.resize(sectors, "i64"))
            moved = b.shuffle(held, [0, *range(WAYS - 1)])
            b.store(b.insert(moved, fresh, 0), place, align=8)
            b.ret(sectors)
        way = b.call(f"i{WAYS}", f"llvm.cttz.i{WAYS}", found, constant("i1", True))
        here = b.offset(place, b.op("shl", b.resize(way, "i64"), i64(3)))
        entry = b.load("i64", here)
        b.store(b.op("or", entry, b.resize(sectors, "i64")), here)
        valid = b.op("and", b.resize(entry, "i32"), i32(15))
        b.ret(b.op("and", sectors, b.op("xor", valid, i32(15))))


def _mark(m: Module) -> None:
    """Remembers sectors of a line as touched: a byte each, for workers write side by side."""
    with m.function("void", "gs_map_mark", "i64 map", "ptr warp", "i64 line", "i32 sectors") as (b, args):
        map_, warp, line, sectors = args
        worker = b.get(warp, WARP, "worker")
        low, size = b.get(worker, WORKER, "map_low"), b.get(worker, WORKER, "map_size")
        first = b.op("sub", b.op("shl", line, i64(2)), low)
        with b.if_(b.compare("ult", b.op("add", first, i64(3)), size)), b.lanes(sectors) as sector:
            b.store(constant("i8", 1), b.pointer(b.op("add", b.op("add", map_, first), b.resize(sector, "i64"))))


def _count_local(m: Module) -> None:
    """Local memory lies word by word: word k of all lanes side by side, 128 bytes of it for a whole warp."""
    head = ("ptr warp", "i64 at", "i32 mask", f"{wide('i32')} offset", "i32 size")
    with m.function("void", "gs_count_local", *head) as (b, (warp, at, mask, offset, size)):
        unless_idle(b, mask)
        row = b.op("lshr", offset, constant(offset.type, 2))
        quarter = vector_constant("i32", [i // 8 for i in range(LANES)])
        words = b.op("lshr", b.op("add", size, i32(3)), i32(2))
        lanes = popcount(b, mask)
        figures = {"requests": i32(1), "lanes": lanes,
                   "sectors": b.op("mul", words, _distinct(b, b.op("or", b.op("shl", row, constant(row.type, 2)), quarter), mask)),
                   "lines": b.op("mul", words, _distinct(b, row, mask)),
                   "ideal": b.op("mul", words, b.op("lshr", b.op("add", lanes, i32(7)), i32(3)))}  # fmt: skip
        for name, value in figures.items():
            bump(b, warp, at, name, value)


def _count_const(m: Module) -> None:
    """Constant memory gives one word to a whole warp at a time."""
    head = ("ptr warp", "i64 at", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", "gs_count_const", *head) as (b, (warp, at, mask, address, _)):
        unless_idle(b, mask)
        words = _distinct(b, b.op("lshr", address, constant(address.type, 2)), mask)
        for name, value in {"requests": i32(1), "lanes": popcount(b, mask), "wavefronts": words}.items():
            bump(b, warp, at, name, value)


def _distinct(b: Builder, keys: Value, mask: Value) -> Value:
    """How many different keys the lanes of the mask have."""
    count, left = b.alloca("i32"), b.alloca("i32")
    rising, leaders = visited(b, mask, keys)
    b.store(popcount(b, leaders), count)
    with b.if_(b.op("xor", rising, constant("i1", True))):
        b.store(i32(0), count)
        b.store(mask, left)
        with b.loop() as done:
            now = b.load("i32", left)
            b.break_if(b.compare("eq", now, i32(0)), done)
            key = b.extract(keys, b.call("i32", "llvm.cttz.i32", now, constant("i1", True)))
            same = b.bitcast(b.compare("eq", keys, b.splat(key)), "i32")
            b.store(b.op("and", now, b.op("xor", same, i32(-1))), left)
            b.store(b.op("add", b.load("i32", count), i32(1)), count)
    return b.load("i32", count)
