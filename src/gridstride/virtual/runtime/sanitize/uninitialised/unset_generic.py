"""Generic addresses outside global memory: the device heap, and the windows of shared and local memory."""

from __future__ import annotations

from gridstride.virtual.abi.memory_records import UNSET_SHIFT
from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.uninitialised.unset_words import HEAD, add_lane, words_of


def emit_generic(m: IrModule) -> None:
    """gs_unset_elsewhere: the device heap, and the windows of shared and local memory; anything else counts as set."""
    with m.function("i32", "gs_unset_elsewhere", *HEAD, "i32 store") as (b, (warp, mask, address, size, store)):
        writes, bad = store != 0, b.alloca("i32")
        b.store(i32(0), bad)
        shared, extent = warp.shared, warp.shared_size
        offset = address - b.splat(shared)
        in_shared = mask & b.bitcast(offset < b.splat(extent), "i32")
        short = b.resize(offset, "i32")
        _load_or_store(b, writes, in_shared, bad, "gs_unset_shared", (warp, in_shared, short, size))
        remaining = mask ^ in_shared
        heap = warp.launch.heap
        from_heap = address - b.splat(heap.start)
        in_heap = remaining & b.bitcast(from_heap < b.splat(heap.size), "i32")
        with b.lanes(in_heap) as lane:
            at = b.extract(from_heap, lane)
            first = b.offset(heap.unset, at >> UNSET_SHIFT)
            add_lane(b, bad, lane, b.call("i1", "gs_unset_bytes", first, size, store))
        remaining ^= in_heap
        reach = warp.worker.local_stride
        from_local = address - b.splat(warp.local)
        in_local = remaining & b.bitcast(from_local < b.splat(reach), "i32")
        in_local = b.select(warp.local_unset != 0, in_local, i32(0))
        _load_or_store(b, writes, in_local, bad, "gs_unset_local_at", (warp, in_local, from_local, size))
        b.ret(b.load("i32", bad))
    # One lane's words in a shadow: gives whether all are unset, or marks them as set.
    with m.function("i1", "gs_unset_bytes", "ptr place", "i32 size", "i32 store") as (b, (first, size, store)):
        words = words_of(b, size)
        with b.if_(store != 0):
            length = b.resize(words, "i64")
            b.emit(f"call void @llvm.memset.p0.i64(ptr {first.name}, i8 0, {length!r}, i1 false)")
            b.ret(constant("i1", False))
        b.ret(b.call("i1", "gs_unset_all", first, words))


def _load_or_store(b: Builder, writes: Value, lanes: Value, bad: Value, name: str, args: tuple[Value, ...]) -> None:
    """Calls NAME_store, or adds what NAME_load gives to the mask `bad`."""
    some = lanes != 0
    with b.if_(some & writes):
        b.call("void", f"{name}_store", *args)
    with b.if_(some & ~writes):
        b.store(b.load("i32", bad) | b.call("i32", f"{name}_load", *args), bad)
