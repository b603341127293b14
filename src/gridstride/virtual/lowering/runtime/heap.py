"""The runtime's malloc and free: a heap in units, each block with a gap behind it, for all threads of all workers.

Blocks are taken from where the last one ended, round and round, so that freed memory stays unused for as long as
possible and a pointer into it is found. What a unit belongs to is kept outside the heap, where no kernel can write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import FAULT, HEAP, HEAP_UNIT, LAUNCH, ORIGIN, UNSET_SHIFT, WARP


def emit_heap(m: Module) -> None:
    """gs_malloc, gs_free, and gs_heap_check for the bounds check."""
    _live(m)
    _find(m)
    _malloc(m)
    _free(m)
    _check(m)


def _heap(b: Builder, warp: Value) -> Value:
    return b.get(b.get(warp, WARP, "launch"), LAUNCH, "heap")


def _row(b: Builder, heap: Value, name: str, unit: Value) -> Value:
    """A unit's entry in `owner` (4 bytes each) or `bytes` (8)."""
    return b.offset(b.get(heap, HEAP, name), b.op("mul", unit, i64({"owner": 4, "bytes": 8}[name])))


def _units(b: Builder, size: Value) -> Value:
    """Units of a block of so many bytes, the gap behind it included."""
    return b.op("add", b.op("udiv", b.op("add", size, i64(HEAP_UNIT - 1)), i64(HEAP_UNIT)), i64(1))


def _add(b: Builder, heap: Value, name: str, by: Value) -> None:
    b.put(heap, HEAP, name, b.op("add", b.get(heap, HEAP, name), by))


@contextmanager
def _locked(b: Builder, heap: Value) -> Iterator[None]:
    """One thread of the process at a time. Nothing inside gives way to another warp."""
    lock = b.field(heap, HEAP, "lock")
    with b.loop() as taken:
        pair = b.define("{ i32, i1 }", f"cmpxchg ptr {lock.name}, i32 0, i32 1 seq_cst seq_cst")
        b.break_if(b.define("i1", f"extractvalue {{ i32, i1 }} {pair.name}, 1"), taken)
    yield
    b.emit(f"store atomic i32 0, ptr {lock.name} seq_cst, align 4")


def _live(m: Module) -> None:
    """The unit past the live block that a unit belongs to; 0 where it belongs to none."""
    with m.function("i64", "gs_heap_live", "ptr heap", "i64 unit") as (b, (heap, unit)):
        owner = b.resize(b.load("i32", _row(b, heap, "owner", unit)), "i64")
        with b.if_(b.compare("ne", owner, i64(0))):
            first = b.op("sub", owner, i64(1))
            size = b.load("i64", _row(b, heap, "bytes", first))
            end = b.op("add", first, _units(b, size))
            live = b.op("and", b.compare("sge", size, i64(0)), b.compare("ult", unit, end))
            b.ret(b.select(live, end, i64(0)))
        b.ret(i64(0))


def _find(m: Module) -> None:
    """The first of `need` free units in a row between two units, -1 where there are none."""
    head = ("ptr heap", "i64 start", "i64 stop", "i64 need")
    with m.function("i64", "gs_heap_find", *head) as (b, (heap, start, stop, need)):
        at, first = b.alloca("i64"), b.alloca("i64")
        b.store(start, at)
        b.store(start, first)
        with b.loop() as full:
            unit = b.load("i64", at)
            with b.if_(b.compare("uge", b.op("sub", unit, b.load("i64", first)), need)):
                b.ret(b.load("i64", first))
            b.break_if(b.compare("uge", unit, stop), full)
            end = b.call("i64", "gs_heap_live", heap, unit)
            taken = b.compare("ne", end, i64(0))
            b.store(b.select(taken, end, b.op("add", unit, i64(1))), at)
            with b.if_(taken):
                b.store(end, first)
        b.ret(i64(-1))


def _malloc(m: Module) -> None:
    """The address of a fresh block for each lane, 0 where the heap has no room; 32 sizes and results."""
    head = ("ptr warp", "i32 site", "i32 mask", "ptr sizes", "ptr results")
    with m.function("void", "gs_malloc", *head, cold=True) as (b, (warp, site, mask, sizes, results)):
        heap = _heap(b, warp)
        units = b.get(heap, HEAP, "units")
        with b.lanes(mask) as lane:
            offset = b.op("mul", b.resize(lane, "i64"), i64(8))
            size, result = b.load("i64", b.offset(sizes, offset)), b.offset(results, offset)
            b.store(i64(0), result)
            with _locked(b, heap):
                fits = b.compare("ule", size, b.get(heap, HEAP, "size"))
                need = _units(b, b.select(fits, size, i64(0)))
                cursor = b.get(heap, HEAP, "cursor")
                ahead = b.call("i64", "gs_heap_find", heap, cursor, units, need)
                found = b.alloca("i64")
                b.store(b.select(fits, ahead, i64(-1)), found)
                with b.if_(b.op("and", fits, b.compare("slt", ahead, i64(0)))):
                    b.store(b.call("i64", "gs_heap_find", heap, i64(0), units, need), found)
                first = b.load("i64", found)
                missing = b.compare("slt", first, i64(0))
                _add(b, heap, "failed", b.resize(missing, "i32"))
                with b.if_(b.op("xor", missing, constant("i1", True))):
                    _claim(b, heap, first, need, size)
                    _note(b, warp, heap, first, need, site, lane)
                    b.store(b.op("add", b.get(heap, HEAP, "start"), b.op("mul", first, i64(HEAP_UNIT))), result)


def _claim(b: Builder, heap: Value, first: Value, need: Value, size: Value) -> None:
    end, at = b.op("add", first, need), b.alloca("i64")
    owner = b.resize(b.op("add", first, i64(1)), "i32")
    b.store(first, at)
    with b.loop() as done:
        unit = b.load("i64", at)
        b.break_if(b.compare("uge", unit, end), done)
        b.store(owner, _row(b, heap, "owner", unit))
        b.store(b.op("add", unit, i64(1)), at)
    b.store(size, _row(b, heap, "bytes", first))
    b.put(heap, HEAP, "cursor", end)
    for name, by in (("allocations", i64(1)), ("live", i64(1)), ("live_bytes", size)):
        _add(b, heap, name, by)


def _note(b: Builder, warp: Value, heap: Value, first: Value, need: Value, site: Value, lane: Value) -> None:
    """Who asked for a block; in the observed build, that nothing has been written to it."""
    origin = b.offset(b.get(heap, HEAP, "origins"), b.op("mul", first, i64(ORIGIN.size)))
    who = {"origin": b.get(b.get(warp, WARP, "launch"), LAUNCH, "origin"), "site": site,
           "warp": b.get(warp, WARP, "warp"), "lane": lane}  # fmt: skip
    for name, value in who.items():
        b.put(origin, ORIGIN, name, value)
    for axis in range(3):
        b.put(origin, ORIGIN, "ctaid", b.get(warp, WARP, "ctaid", axis), axis)
    with b.if_(b.compare("ne", b.get(warp, WARP, "unset"), i64(0))):
        words = HEAP_UNIT >> UNSET_SHIFT
        start = b.offset(b.get(heap, HEAP, "unset"), b.op("mul", first, i64(words)))
        length = b.op("mul", need, i64(words))
        b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 1, {length!r}, i1 false)")


def _free(m: Module) -> None:
    with m.function("void", "gs_free", "ptr warp", "i32 site", "i32 mask", "ptr pointers", cold=True) as (
        b,
        (warp, site, mask, pointers),
    ):
        heap, wrong = _heap(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            address = b.load("i64", b.offset(pointers, b.op("mul", b.resize(lane, "i64"), i64(8))))
            with b.if_(b.compare("ne", address, i64(0))):
                b.store(i32(FAULT["invalid_free"]), wrong)
                distance = b.op("sub", address, b.get(heap, HEAP, "start"))
                with b.if_(b.compare("ult", distance, b.get(heap, HEAP, "size"))), _locked(b, heap):
                    _release(b, heap, distance, wrong)
                kind = b.load("i32", wrong)
                with b.if_(b.compare("ne", kind, i32(0))):
                    b.call("void", "gs_fault", warp, site, kind, b.op("shl", i32(1), lane), address, i32(0))


def _release(b: Builder, heap: Value, distance: Value, wrong: Value) -> None:
    """Frees the block that starts `distance` bytes into the heap; clears `wrong` where there is one."""
    unit = b.op("udiv", distance, i64(HEAP_UNIT))
    owner = b.resize(b.load("i32", _row(b, heap, "owner", unit)), "i64")
    entry = _row(b, heap, "bytes", unit)
    size = b.load("i64", entry)
    whole = b.compare("eq", b.op("mul", unit, i64(HEAP_UNIT)), distance)
    starts = b.op("and", whole, b.compare("eq", owner, b.op("add", unit, i64(1))))
    alive = b.op("and", starts, b.compare("sge", size, i64(0)))
    with b.if_(alive):
        b.store(i32(0), wrong)
        b.store(b.op("sub", i64(-1), size), entry)
        for name, by in (("frees", i64(1)), ("live", i64(-1)), ("live_bytes", b.op("sub", i64(0), size))):
            _add(b, heap, name, by)


def _check(m: Module) -> None:
    """True where bytes lie in a live block of the heap; faults in a freed one; false outside of any.

    A block is not remembered by the site that touched it: once freed it must not pass there.
    """
    head = ("ptr warp", "i32 site", "i32 lanes", "i64 address", "i32 size")
    with m.function("i1", "gs_heap_check", *head, cold=True) as (b, (warp, site, lanes, address, size)):
        heap = _heap(b, warp)
        start = b.get(heap, HEAP, "start")
        with b.if_(b.compare("uge", b.op("sub", address, start), b.get(heap, HEAP, "size"))):
            b.ret(constant("i1", False))
        unit = b.op("udiv", b.op("sub", address, start), i64(HEAP_UNIT))
        owner = b.resize(b.load("i32", _row(b, heap, "owner", unit)), "i64")
        with b.if_(b.compare("eq", owner, i64(0))):
            b.ret(constant("i1", False))
        first = b.op("sub", owner, i64(1))
        kept = b.load("i64", _row(b, heap, "bytes", first))
        freed = b.compare("slt", kept, i64(0))
        length = b.select(freed, b.op("sub", i64(-1), kept), kept)
        last = b.op("sub", b.op("add", address, b.resize(size, "i64")), b.op("mul", first, i64(HEAP_UNIT)))
        inside = b.compare("ule", b.op("sub", last, start), length)
        with b.if_(b.op("and", inside, freed)):
            b.call("void", "gs_fault", warp, site, i32(FAULT["use_after_free"]), lanes, address, size)
        b.ret(inside)
