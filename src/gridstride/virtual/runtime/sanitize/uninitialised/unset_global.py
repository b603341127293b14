"""Reads of global memory and the device heap that nothing has written: a shadow has a byte for each word."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import LAUNCH
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.memory_records import UNSET_SHIFT
from gridstride.virtual.abi.value_origins import GLOBAL
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.sanitize.uninitialised.unset_words import HEAD, WORD_BYTES, add_lane, words_of


def emit_global_load(m: IrModule) -> None:
    """gs_unset_load: the lanes that read nothing but unset words; gs_unset_all: whether so many words are unset."""
    with m.function("i32", "gs_unset_load", *HEAD) as (b, (warp, mask, address, size)):
        inside, shadow, distance = _shadow_of(b, warp, mask, address)
        with b.if_(_contiguous(b, inside, distance, size), likely=True):
            row_shadow = _combined_shadow(b, b.pointer(b.extract(shadow, 0)), size)
            with b.if_(row_shadow == 0, likely=True):
                b.ret(i32(0))
        unset_bits = _gather_shadows(b, shadow, inside) & b.splat(_shadow_bits(b, size))
        suspect = inside & b.bitcast(unset_bits != 0, "i32")
        bad = b.alloca("i32")
        b.store(i32(0), bad)
        with b.lanes(suspect) as lane:
            all_unset = b.call("i1", "gs_unset_all", b.pointer(b.extract(shadow, lane)), words_of(b, size))
            add_lane(b, bad, lane, all_unset)
        remaining = mask ^ inside
        with b.if_(remaining != 0):
            elsewhere = b.call("i32", "gs_unset_elsewhere", warp, remaining, address, size, i32(0))
            b.store(b.load("i32", bad) | elsewhere, bad)
        b.ret(b.load("i32", bad))
    with m.function("i1", "gs_unset_all", "ptr place", "i32 words") as (b, (start, words)):
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(j >= words, done)
            b.store(j + 1, at)
            with b.if_(b.load("i8", b.offset(start, b.resize(j, "i64"))) == 0):
                b.ret(constant("i1", False))
        b.ret(constant("i1", True))


def emit_global_store(m: IrModule) -> None:
    """gs_unset_store marks as set; what is set already is not written to, so that its shadow takes no room."""
    with m.function("void", "gs_unset_store", *HEAD) as (b, (warp, mask, address, size)):
        inside, shadow, distance = _shadow_of(b, warp, mask, address)
        with b.if_(_contiguous(b, inside, distance, size) & (size >= WORD_BYTES)):
            start = b.pointer(b.extract(shadow, 0))
            with b.if_(_combined_shadow(b, start, size) != 0):
                length = b.resize(size, "i64") * 8
                b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 0, {length!r}, i1 false)")
            b.ret()
        unset_bits = _gather_shadows(b, shadow, inside)
        work = inside & b.bitcast(unset_bits != 0, "i32")
        words = b.resize(words_of(b, size), "i64")
        with b.lanes(work) as lane:
            first = b.pointer(b.extract(shadow, lane))
            b.emit(f"call void @llvm.memset.p0.i64(ptr {first.name}, i8 0, {words!r}, i1 false)")
        remaining = mask ^ inside
        with b.if_(remaining != 0):
            b.call("i32", "gs_unset_elsewhere", warp, remaining, address, size, i32(1))


def emit_range(m: IrModule) -> None:
    """gs_unset_range: any number of bytes of global memory or the heap that a bulk copy reads, or writes."""
    head = ("warp* warp", "i32 site", "i32 lane", "ptr start", "i32 size", "i32 store")
    with m.function("void", "gs_unset_range", *head) as (b, (warp, site, lane, start, size, store)):
        unset, launch = warp.unset, warp.launch
        with b.if_((unset == 0) | (size == 0)):
            b.ret()
        address, bad = b.define("i64", f"ptrtoint {start!r} to i64"), b.alloca("i1")
        b.store(constant("i1", False), bad)
        extent = size + b.resize(address & (WORD_BYTES - 1), "i32")
        heap, none = launch.heap, constant("i1", False)
        shadow_of_heap = b.define("i64", f"ptrtoint ptr {heap.unset.name} to i64")
        for low, span, shadow in (
            (launch.unset_low, launch.unset_span, unset),
            (heap.start, heap.size, shadow_of_heap),
        ):
            distance = address - low
            with b.if_(distance < span):
                first = b.pointer(shadow + (distance >> UNSET_SHIFT))
                b.store(b.call("i1", "gs_unset_bytes", first, extent, store), bad)
        with b.if_(b.load("i1", bad) != none):
            lanes = 1 << lane
            b.call("void", "gs_report_uninitialised", warp, site, lanes, i32(GLOBAL), b.splat(address))


def _shadow_of(b: Builder, warp: Record, mask: Value, address: Value) -> tuple[Value, Value, Value]:
    """(lanes in the arena, their shadow bytes' addresses, distances from lane 0)."""
    launch = warp.launch
    low, span = (b.splat(b.get(launch, LAUNCH, f"unset_{n}")) for n in ("low", "span"))
    distance = address - low
    inside = mask & b.bitcast(distance < span, "i32")
    shadow = b.splat(warp.unset) + (distance >> UNSET_SHIFT)
    return inside, shadow, address - b.splat(b.extract(address, 0))


def _contiguous(b: Builder, inside: Value, distance: Value, size: Value) -> Value:
    """An i1: all 32 lanes, one element behind the other."""
    steps = vector_constant("i64", range(LANES)) * b.splat(b.resize(size, "i64"))
    row = b.bitcast(distance == steps, "i32")
    return (row & inside) == -1


def _combined_shadow(b: Builder, start: Value, size: Value) -> Value:
    """The shadow of 32 elements in a row, combined: 0 where all is set."""
    total, at = b.alloca("i64"), b.alloca("i32")
    b.store(i64(0), total)
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(j >= size, done)
        word = b.load("i64", b.offset(start, b.resize(j, "i64") * 8), align=1)
        b.store(b.load("i64", total) | word, total)
        b.store(j + 1, at)
    return b.load("i64", total)


def _gather_shadows(b: Builder, shadow: Value, mask: Value) -> Value:
    """Four bytes of each lane's shadow; 0 for lanes that are not in the mask."""
    pointers = b.define(wide("ptr"), f"inttoptr {shadow!r} to {wide('ptr')}")
    name, zero = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0", constant(wide("i32"), 0)
    return b.call(wide("i32"), name, pointers, i32(1), b.bitcast(mask, wide("i1")), zero)


def _shadow_bits(b: Builder, size: Value) -> Value:
    """The bits that a lane's shadow has in four bytes of it."""
    wide_ = b.select(size > 8, i32(-1), i32(0xFFFF))
    return b.select(size > WORD_BYTES, wide_, i32(0xFF))
