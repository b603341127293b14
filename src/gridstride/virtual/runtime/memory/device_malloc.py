"""The runtime's malloc and free: a heap in units, each block with a gap behind it, for all threads of all workers.

Blocks are taken from where the last one ended, round and round, so that freed memory stays unused for as long as
possible and a pointer into it is found. What a unit belongs to is kept outside the heap, where no kernel can write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.memory_records import HEAP, HEAP_UNIT, ORIGIN, UNSET_SHIFT
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64


def emit_heap(m: IrModule) -> None:
    """gs_malloc, gs_free, and gs_heap_check for the bounds check."""
    _live(m)
    _find(m)
    _room(m)
    _malloc(m)
    _free(m)
    _check(m)


def _heap(b: Builder, warp: Record) -> Record:
    return warp.launch.heap


def _row(b: Builder, heap: Record, name: str, unit: Value) -> Value:
    """A unit's entry in `owner` (4 bytes each) or `bytes` (8)."""
    return b.offset(b.get(heap, HEAP, name), unit * {"owner": 4, "bytes": 8}[name])


def _units(b: Builder, size: Value) -> Value:
    """Units of a block of so many bytes, the gap behind it included."""
    return (size + (HEAP_UNIT - 1)) // HEAP_UNIT + 1


def _add(b: Builder, heap: Record, name: str, by: Value) -> None:
    b.put(heap, HEAP, name, b.get(heap, HEAP, name) + by)


@contextmanager
def _locked(b: Builder, heap: Record) -> Iterator[None]:
    """One thread of the process at a time. Nothing inside gives way to another warp."""
    lock = heap.field("lock")
    with b.loop() as locked:
        pair = b.define("{ i32, i1 }", f"cmpxchg ptr {lock.name}, i32 0, i32 1 seq_cst seq_cst")
        b.break_if(b.define("i1", f"extractvalue {{ i32, i1 }} {pair.name}, 1"), locked)
    yield
    b.emit(f"store atomic i32 0, ptr {lock.name} seq_cst, align 4")


def _live(m: IrModule) -> None:
    """The unit past the live block that a unit belongs to; 0 where it belongs to none."""
    with m.function("i64", "gs_heap_live", "heap* heap", "i64 unit") as (b, (heap, unit)):
        owner = b.resize(b.load("i32", _row(b, heap, "owner", unit)), "i64")
        with b.if_(owner != 0):
            first = owner - 1
            size = b.load("i64", _row(b, heap, "bytes", first))
            end = first + _units(b, size)
            live = b.compare("sge", size, i64(0)) & (unit < end)
            b.ret(b.select(live, end, i64(0)))
        b.ret(i64(0))


def _find(m: IrModule) -> None:
    """The first of `need` free units in a row between two units, -1 where there are none."""
    head = ("heap* heap", "i64 start", "i64 stop", "i64 need")
    with m.function("i64", "gs_heap_find", *head) as (b, (heap, start, stop, need)):
        at, first = b.alloca("i64"), b.alloca("i64")
        b.store(start, at)
        b.store(start, first)
        with b.loop() as full:
            unit = b.load("i64", at)
            with b.if_(unit - b.load("i64", first) >= need):
                b.ret(b.load("i64", first))
            b.break_if(unit >= stop, full)
            end = b.call("i64", "gs_heap_live", heap, unit)
            is_taken = end != 0
            b.store(b.select(is_taken, end, unit + 1), at)
            with b.if_(is_taken):
                b.store(end, first)
        b.ret(i64(-1))


def _room(m: IrModule) -> None:
    """The first of `need` free units in a row, from the cursor on and round; -1 where there are none. As many as were
    looked for in vain are not looked for again until something is freed: a kernel may ask until it gets them.
    """
    with m.function("i64", "gs_heap_room", "heap* heap", "i64 need") as (b, (heap, need)):
        units, no_room = heap.units, heap.no_room
        with b.if_((need > units) | ((no_room != 0) & (need >= no_room))):
            b.ret(i64(-1))
        for start in (heap.cursor, i64(0)):
            first = b.call("i64", "gs_heap_find", heap, start, units, need)
            with b.if_(b.compare("sge", first, i64(0))):
                b.ret(first)
        heap.no_room = need
        b.ret(i64(-1))


def _malloc(m: IrModule) -> None:
    """The address of a fresh block for each lane, 0 where the heap has no room; 32 sizes and results."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr sizes", "ptr results")
    with m.function("void", "gs_malloc", *head, cold=True) as (b, (warp, site, mask, sizes, results)):
        heap = _heap(b, warp)
        units = heap.units
        with b.lanes(mask) as lane:
            offset = b.resize(lane, "i64") * 8
            size, result = b.load("i64", b.offset(sizes, offset)), b.offset(results, offset)
            b.store(i64(0), result)
            with _locked(b, heap):
                fits = size <= heap.size
                need = _units(b, b.select(fits, size, i64(0)))
                first = b.call("i64", "gs_heap_room", heap, b.select(fits, need, units + 1))
                missing = b.compare("slt", first, i64(0))
                _add(b, heap, "failed", b.resize(missing, "i32"))
                with b.if_(~missing):
                    _claim(b, heap, first, need, size)
                    _note(b, warp, heap, first, need, site, lane)
                    b.store(heap.start + first * HEAP_UNIT, result)


def _claim(b: Builder, heap: Record, first: Value, need: Value, size: Value) -> None:
    end, at = first + need, b.alloca("i64")
    owner = b.resize(first + 1, "i32")
    b.store(first, at)
    with b.loop() as done:
        unit = b.load("i64", at)
        b.break_if(unit >= end, done)
        b.store(owner, _row(b, heap, "owner", unit))
        b.store(unit + 1, at)
    b.store(size, _row(b, heap, "bytes", first))
    heap.cursor = end
    for name, by in (("allocations", i64(1)), ("live", i64(1)), ("live_bytes", size), ("asked", size)):
        _add(b, heap, name, by)


def _note(b: Builder, warp: Record, heap: Record, first: Value, need: Value, site: Value, lane: Value) -> None:
    """Who asked for a block; in the observed build, that nothing has been written to it."""
    origin = heap.origins[first]
    who = {"origin": warp.launch.origin, "site": site,
           "warp": warp.warp, "lane": lane}  # fmt: skip
    for name, value in who.items():
        b.put(origin, ORIGIN, name, value)
    for axis in range(3):
        origin.ctaid[axis] = warp.ctaid[axis]
    with b.if_(warp.unset != 0):
        words = HEAP_UNIT >> UNSET_SHIFT
        start = b.offset(heap.unset, first * words)
        length = need * words
        b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 1, {length!r}, i1 false)")


def _free(m: IrModule) -> None:
    with m.function("void", "gs_free", "warp* warp", "i32 site", "i32 mask", "ptr pointers", cold=True) as (
        b,
        (warp, site, mask, pointers),
    ):
        heap, wrong = _heap(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            address = b.load("i64", b.offset(pointers, b.resize(lane, "i64") * 8))
            with b.if_(address != 0):
                b.store(i32(FAULT["invalid_free"]), wrong)
                distance = address - heap.start
                with b.if_(distance < heap.size), _locked(b, heap):
                    _release(b, heap, distance, wrong)
                kind = b.load("i32", wrong)
                with b.if_(kind != 0):
                    b.call("void", "gs_fault", warp, site, kind, 1 << lane, address, i32(0))


def _release(b: Builder, heap: Record, distance: Value, wrong: Value) -> None:
    """Frees the block that starts `distance` bytes into the heap; clears `wrong` where there is one."""
    unit = distance // HEAP_UNIT
    owner = b.resize(b.load("i32", _row(b, heap, "owner", unit)), "i64")
    entry = _row(b, heap, "bytes", unit)
    size = b.load("i64", entry)
    is_exact = unit * HEAP_UNIT == distance
    starts = is_exact & (owner == unit + 1)
    alive = starts & b.compare("sge", size, i64(0))
    with b.if_(alive):
        b.store(i32(0), wrong)
        b.store(-1 - size, entry)
        heap.no_room = 0
        for name, by in (("frees", i64(1)), ("live", i64(-1)), ("live_bytes", 0 - size)):
            _add(b, heap, name, by)


def _check(m: IrModule) -> None:
    """True where bytes lie in a live block of the heap; faults in a freed one; false outside of any.

    A block is not remembered by the site that touched it: once freed it must not pass there.
    """
    head = ("warp* warp", "i32 site", "i32 lanes", "i64 address", "i32 size")
    with m.function("i1", "gs_heap_check", *head, cold=True) as (b, (warp, site, lanes, address, size)):
        heap = _heap(b, warp)
        start = heap.start
        with b.if_(address - start >= heap.size):
            b.ret(constant("i1", False))
        unit = (address - start) // HEAP_UNIT
        owner = b.resize(b.load("i32", _row(b, heap, "owner", unit)), "i64")
        with b.if_(owner == 0):
            b.ret(constant("i1", False))
        first = owner - 1
        stored_size = b.load("i64", _row(b, heap, "bytes", first))
        freed = b.compare("slt", stored_size, i64(0))
        length = b.select(freed, -1 - stored_size, stored_size)
        last = address + b.resize(size, "i64") - first * HEAP_UNIT
        inside = last - start <= length
        with b.if_(inside & freed):
            b.call("void", "gs_fault", warp, site, i32(FAULT["use_after_free"]), lanes, address, size)
        b.ret(inside)
