"""Reads of local memory that nothing has written: a shadow has a byte for each byte."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import IrModule, vector_constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.uninitialised.unset_words import add_lane


def emit_local(m: IrModule) -> None:
    """`gs_unset_local_load` and so on: offsets in each lane's own memory; with `at`, from the start of the warp's."""
    head = ("warp* warp", "i32 mask", f"{wide('i64')} offset", "i32 size")
    for access, result in (("load", "i32"), ("store", "void"), ("again", "void")):
        with m.function(result, f"gs_unset_local_{access}", *head) as (b, (warp, mask, offset, size)):
            stride = b.resize(warp.launch.local_size, "i64")
            lane = vector_constant("i64", range(LANES)) * b.splat(stride)
            inside = mask & b.bitcast(offset < b.splat(stride), "i32")
            unset_lanes = b.call(result, f"gs_unset_local_at_{access}", warp, inside, offset + lane, size)
            b.ret(unset_lanes if result != "void" else None)
        with m.function(result, f"gs_unset_local_at_{access}", *head) as (b, (warp, mask, offset, size)):
            start, length, bad = b.pointer(warp.local_unset), b.resize(size, "i64"), b.alloca("i32")
            b.store(i32(0), bad)
            with b.lanes(mask) as lane:
                first = b.offset(start, b.extract(offset, lane))
                if access == "load":
                    add_lane(b, bad, lane, b.call("i1", "gs_unset_all", first, size))
                else:
                    mark = int(access == "again")
                    b.emit(f"call void @llvm.memset.p0.i64(ptr {first.name}, i8 {mark}, {length!r}, i1 false)")
            b.ret(b.load("i32", bad) if access == "load" else None)
