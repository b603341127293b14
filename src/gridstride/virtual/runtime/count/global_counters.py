"""The runtime's counting of accesses to global memory: requests, sectors, lines, what L1 would miss.

The lanes of a request are sorted into the 128-byte lines that they touch, each with a mask of its four sectors; lanes
side by side, the usual case, are a run of sectors without that; addresses that never fall from lane to lane are visited
once for each sector.

An atomic's lanes go out in packets of one line, in the order of the lanes; one that meets an address already in its
packet opens the next, as the hardware does (tests/virtual/fixtures/kernels_ncu_h200.json: 20000 sectors for 20000 adds
to one address).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridstride.virtual.abi.access_counters import COUNTERS, KINDS
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.count.l1 import Memory, mark, probe

SLOTS = 64
"""Of the table that a request's lines are sorted into: twice as many as there can be."""


@dataclass(frozen=True, slots=True)
class CounterTable:
    """Stack slots: `keys` are line + 1, 0 where empty; `order` says which slots were taken, one after the other."""

    keys: Value
    bits: Value
    words: Value
    order: Value
    count: Value

    @staticmethod
    def of(b: Builder) -> CounterTable:
        keys = b.alloca(f"[{SLOTS} x i64]", align=64)
        bits, words = (b.alloca(f"[{SLOTS} x i32]", align=64) for _ in range(2))
        return CounterTable(keys, bits, words, b.alloca(f"[{LANES} x i32]", align=64), b.alloca("i32"))


def bump(b: Builder, warp: Record, at: Value, figures: Mapping[str, Value]) -> None:
    """Adds to counters of the site whose counters start at byte `at`."""
    base = b.offset(warp.counters, at)
    for name, by in figures.items():
        counter = b.offset(base, 8 * COUNTERS.index(name))
        b.store(b.load("i64", counter) + b.resize(by, "i64"), counter)


def popcount(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.ctpop.i32", mask)


def unless_idle(b: Builder, mask: Value) -> None:
    """Returns where no lane executes the access."""
    with b.if_(mask == 0):
        b.ret()


def visited(b: Builder, mask: Value, keys: Value) -> tuple[Value, Value]:
    """(an i1: the keys never fall over the lanes of the mask; the first lane of each different key where so)."""
    active = b.bitcast(mask, wide("i1"))
    filled = b.select(active, keys, constant(keys.type, -1))
    previous = b.shuffle(filled, [0, *range(LANES - 1)])
    rising = b.bitcast(filled >= previous, "i32") == -1
    changes = b.bitcast(filled != previous, "i32") | 1
    return rising, changes & mask


def emit_lines(m: IrModule) -> None:
    """gs_count_global_KIND(warp, at, mask, address, size) for each of KINDS, gs_count_local, gs_count_const."""
    for kind in KINDS:
        _count_global(m, kind)
        _count_run(m, kind)
    _count_local(m)
    _count_const(m)


@dataclass(frozen=True, slots=True)
class Sums:
    """Stack slots for what a request's lines add up to."""

    total: Value
    missed: Value
    fetched: Value
    contended: Value
    lines: Value

    @staticmethod
    def of(b: Builder) -> Sums:
        slots = [b.alloca("i32") for _ in range(5)]
        for slot in slots:
            b.store(i32(0), slot)
        return Sums(*slots)

    def add(self, b: Builder, name: str, by: Value) -> None:
        slot = getattr(self, name)
        b.store(b.load("i32", slot) + by, slot)


def _count_global(m: IrModule, kind: str) -> None:
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", f"gs_count_global_{kind}", *head) as (b, (warp, at, mask, address, size)):
        unless_idle(b, mask)
        if kind != "atomic":
            _as_run(b, kind, warp, at, mask, address, size)
        sums, memory, addresses = Sums.of(b), Memory.of(b, warp, kind), b.alloca(wide("i64"), align=64)
        b.store(address, addresses, align=64)
        lanes = popcount(b, mask)
        if kind != "atomic":
            rising, leaders = visited(b, mask, address >> 5)
            with b.if_(rising):
                _in_order(b, kind, leaders, addresses, sums, memory)
                _finish(b, kind, warp, at, lanes, size, sums)
                b.ret()
        table = CounterTable.of(b)
        b.store(i32(0), table.count)
        b.store(constant(f"<{SLOTS} x i64>", 0), table.keys, align=64)
        with b.lanes(mask) as lane:
            lane_address = _address(b, addresses, lane)
            slot = _find(b, table, lane_address >> 7)
            if kind == "atomic":
                _packet(b, table, slot, lane_address, size, sums)
            bits_pointer = b.offset(table.bits, slot)
            b.store(b.load("i32", bits_pointer) | _sector_bit(b, lane_address), bits_pointer)
        _sum(b, kind, table, sums, memory)
        sums.add(b, "lines", b.load("i32", table.count))
        _finish(b, kind, warp, at, lanes, size, sums)


def _address(b: Builder, addresses: Value, lane: Value) -> Value:
    return b.load("i64", b.offset(addresses, b.resize(lane, "i64") << 3))


def _in_order(b: Builder, kind: str, leaders: Value, addresses: Value, sums: Sums, memory: Memory) -> None:
    """Lines one after the other, for addresses that never fall; `leaders` are the first lanes of different sectors."""
    line, sectors = b.alloca("i64"), b.alloca("i32")
    first = b.call("i32", "llvm.cttz.i32", leaders, constant("i1", True))
    b.store(_address(b, addresses, first) >> 7, line)
    b.store(i32(0), sectors)
    with b.lanes(leaders) as lane:
        address = _address(b, addresses, lane)
        line_number, held = address >> 7, b.load("i64", line)
        with b.if_(line_number != held):
            _line(b, kind, memory, sums, held, b.load("i32", sectors))
            sums.add(b, "lines", i32(1))
            b.store(line_number, line)
            b.store(i32(0), sectors)
        b.store(b.load("i32", sectors) | _sector_bit(b, address), sectors)
    _line(b, kind, memory, sums, b.load("i64", line), b.load("i32", sectors))
    sums.add(b, "lines", i32(1))


def _as_run(b: Builder, kind: str, warp: Record, at: Value, mask: Value, address: Value, size: Value) -> None:
    """Returns with the access counted where its lanes, the first ones of the warp, lie side by side or at one place."""
    first = b.extract(address, 0)
    step = vector_constant("i64", range(LANES)) * b.splat(b.resize(size, "i64"))
    off = ~mask
    front = (mask & (mask + 1)) == 0
    lanes = popcount(b, mask)
    for where, bytes_ in ((b.splat(first) + step, lanes * size), (b.splat(first), size)):
        equal = b.bitcast(address == where, "i32")
        all_ = (equal | off) == -1
        with b.if_(all_ & front, likely=True):
            b.call("void", f"gs_count_run_{kind}", warp, at, lanes, first, bytes_, size)
            b.ret()


def _count_run(m: IrModule, kind: str) -> None:
    """The sectors of `bytes` from an address on, which some lanes of `size` bytes ask for together."""
    head = ("warp* warp", "i64 at", "i32 lanes", "i64 address", "i32 bytes", "i32 size")
    with m.function("void", f"gs_count_run_{kind}", *head) as (b, (warp, at, lanes, address, bytes_, size)):
        sums, memory, now = Sums.of(b), Memory.of(b, warp, kind), b.alloca("i64")
        start = address >> 5
        end = (address + b.resize(bytes_, "i64") - 1) >> 5
        last = end >> 2
        b.store(start >> 2, now)
        with b.loop() as done:
            line = b.load("i64", now)
            b.break_if(line > last, done)
            b.store(line + 1, now)
            base = line << 2
            low = b.intrinsic("smax", start - base, i64(0))
            high = b.intrinsic("smin", end - base, i64(3))
            ones = (2 << high) - (1 << low)
            sums.add(b, "lines", i32(1))
            _line(b, kind, memory, sums, line, b.resize(ones, "i32"))
        _finish(b, kind, warp, at, lanes, size, sums)


def _finish(b: Builder, kind: str, warp: Record, at: Value, lanes: Value, size: Value, sums: Sums) -> None:
    used = (lanes * size + 31) >> 5
    sectors, lines = b.load("i32", sums.total), b.load("i32", sums.lines)
    figures = {"requests": i32(1), "sectors": sectors, "lines": lines, "ideal": used, "lanes": lanes,
               "missed": b.load("i32", sums.missed) if kind == "load" else sectors,
               "fetched": b.load("i32", sums.fetched) if kind == "load" else lines}  # fmt: skip
    if kind == "atomic":
        figures["contended"] = b.load("i32", sums.contended)
    bump(b, warp, at, figures)


def _sector_bit(b: Builder, address: Value) -> Value:
    return 1 << b.resize((address >> 5) & 3, "i32")


def _find(b: Builder, table: CounterTable, line: Value) -> Value:
    """Byte offset (of an i32) of the line's slot, taken now where it is new."""
    at, key = b.alloca("i64"), line + 1
    b.store((line ^ (line >> 6)) & (SLOTS - 1), at)
    with b.loop() as done:
        slot = b.load("i64", at)
        pointer = b.offset(table.keys, slot << 3)
        held = b.load("i64", pointer)
        b.break_if(held == key, done)
        empty, on = b.new_label("empty"), b.new_label("on")
        b.branch(held == 0, empty, on)
        b.start(empty)
        b.store(key, pointer)
        for plane in (table.bits, table.words):
            b.store(i32(0), b.offset(plane, slot << 2))
        number = b.load("i32", table.count)
        b.store(b.resize(slot, "i32"), b.offset(table.order, b.resize(number, "i64") << 2))
        b.store(number + 1, table.count)
        b.jump(done)
        b.start(on)
        b.store((slot + 1) & (SLOTS - 1), at)
    return b.load("i64", at) << 2


def _packet(b: Builder, table: CounterTable, slot: Value, address: Value, size: Value, sums: Sums) -> None:
    """Closes the line's packet where it has the lane's words already."""
    pointer, bits_pointer = b.offset(table.words, slot), b.offset(table.bits, slot)
    count = (size + 3) >> 2
    ones = (1 << count) - 1
    own = ones << b.resize((address >> 2) & 31, "i32")
    with b.if_((b.load("i32", pointer) & own) != 0):
        sums.add(b, "total", popcount(b, b.load("i32", bits_pointer)))
        sums.add(b, "contended", i32(1))
        b.store(i32(0), pointer)
        b.store(i32(0), bits_pointer)
    b.store(b.load("i32", pointer) | own, pointer)


def _sum(b: Builder, kind: str, table: CounterTable, sums: Sums, memory: Memory) -> None:
    """All lines of the table."""
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        k = b.load("i32", at)
        b.break_if(k >= b.load("i32", table.count), done)
        b.store(k + 1, at)
        slot = b.load("i32", b.offset(table.order, b.resize(k, "i64") << 2))
        index = b.resize(slot, "i64")
        line = b.load("i64", b.offset(table.keys, index << 3)) - 1
        _line(b, kind, memory, sums, line, b.load("i32", b.offset(table.bits, index << 2)))


def _line(b: Builder, kind: str, memory: Memory, sums: Sums, line: Value, sectors: Value) -> None:
    """Adds some sectors of a line to the sums, and tells L1 and the maps of them."""
    sums.add(b, "total", popcount(b, sectors))
    if kind == "load":
        sectors = probe(b, memory, line, sectors)
        sums.add(b, "missed", popcount(b, sectors))
        sums.add(b, "fetched", b.resize(sectors != 0, "i32"))
    for map_ in memory.maps:
        mark(b, map_, memory.low, memory.size, line, sectors)


def _count_local(m: IrModule) -> None:
    """Local memory lies word by word: word k of all lanes side by side, 128 bytes of it for a whole warp."""
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i32')} offset", "i32 size")
    with m.function("void", "gs_count_local", *head) as (b, (warp, at, mask, offset, size)):
        unless_idle(b, mask)
        row = offset >> 2
        quarter = vector_constant("i32", [i // 8 for i in range(LANES)])
        words = (size + 3) >> 2
        lanes = popcount(b, mask)
        sector = (row << 2) | quarter
        figures = {"requests": i32(1), "lanes": lanes, "sectors": words * _distinct(b, sector, mask),
                   "lines": words * _distinct(b, row, mask),
                   "ideal": words * ((lanes + 7) >> 3)}  # fmt: skip
        bump(b, warp, at, figures)


def _count_const(m: IrModule) -> None:
    """Constant memory gives one word to a whole warp at a time."""
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", "gs_count_const", *head) as (b, (warp, at, mask, address, _)):
        unless_idle(b, mask)
        words = _distinct(b, address >> 2, mask)
        bump(b, warp, at, {"requests": i32(1), "lanes": popcount(b, mask), "wavefronts": words})


def _distinct(b: Builder, keys: Value, mask: Value) -> Value:
    """How many different keys the lanes of the mask have."""
    count, remaining = b.alloca("i32"), b.alloca("i32")
    rising, leaders = visited(b, mask, keys)
    b.store(popcount(b, leaders), count)
    with b.if_(~rising):
        b.store(i32(0), count)
        b.store(mask, remaining)
        with b.loop() as done:
            now = b.load("i32", remaining)
            b.break_if(now == 0, done)
            key = b.extract(keys, b.call("i32", "llvm.cttz.i32", now, constant("i1", True)))
            same = b.bitcast(keys == b.splat(key), "i32")
            b.store(now & ~same, remaining)
            b.store(b.load("i32", count) + 1, count)
    return b.load("i32", count)
