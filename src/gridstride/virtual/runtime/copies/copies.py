"""The runtime's asynchronous copies as they are issued: made at once in the fast build, queued in the observed one."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, GLOBAL, SHARED
from gridstride.virtual.abi.copy_queue import ARRIVING, BULK_IN, BULK_OUT, COPY, GROUPED, IMMEDIATE
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.race_shadows import PLAIN
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.copies.async_copy_queue import wake
from gridstride.virtual.runtime.memory.address_checks import _address, _search, _within
from gridstride.virtual.runtime.memory.printf_records import row


def emit_copies(m: IrModule) -> None:
    """gs_range, gs_move, gs_discard, gs_copy, gs_bulk, gs_store_later, gs_copies_arrive."""
    _range(m)
    _move(m)
    _discard(m)
    _copy(m)
    _bulk(m)
    _store_later(m)
    _arrive(m)


def _range(m: IrModule) -> None:
    """Where any number of bytes are, checked as a whole and aligned to `align`."""
    head = ("warp* warp", "i32 site", "i32 lane", "i64 address", "i32 size", "i32 align", "i32 space")
    with m.function("ptr", "gs_range", *head) as (b, (warp, site, lane, address, size, align, space)):
        lanes, bytes_ = 1 << lane, b.resize(size, "i64")
        with b.if_(size == 0):
            b.ret(b.pointer(address))
        odd = address & (b.resize(align, "i64") - 1)
        with b.if_(odd != 0):
            b.call("void", "gs_fault_in", warp, site, i32(FAULT["misaligned"]), lanes, address, align, space)
        with b.if_(space == CLUSTER_SPACE):
            b.ret(b.call("ptr", "gs_cluster_place", warp, site, lane, address, size, align))
        extent, base = warp.shared_size, warp.shared
        shared = space == SHARED
        with b.if_(shared & _within(b, address, bytes_, i64(0), extent)):
            b.ret(b.offset(b.pointer(base), address))
        with b.if_(~shared):
            peer = b.call("ptr", "gs_cluster_window", warp, site, lanes, address, size)
            with b.if_(peer != NULL):
                b.ret(peer)
            with b.if_(b.call("i1", "gs_heap_check", warp, site, lanes, address, size)):
                b.ret(b.pointer(address))
            range_ = _search(b, warp.launch, address)
            start, length = range_.start, range_.size
            launch = warp.launch
            parameters = _address(b, launch.params), launch.param_size
            for window in ((start, length), (base, extent), parameters):
                with b.if_(_within(b, address, bytes_, *window)):
                    b.ret(b.pointer(address))
        b.call("void", "gs_fault_in", warp, site, i32(FAULT["out_of_bounds"]), lanes, address, size, space)
        b.unreachable()


def _move(m: IrModule) -> None:
    """`bytes` from source to target, then zeros up to `size`."""
    signatures = {"llvm.memcpy.p0.p0.i64": "ptr, ptr, i64, i1", "llvm.memset.p0.i64": "ptr, i8, i64, i1"}
    for name, types in signatures.items():
        m.signatures[name] = f"declare void @{name}({types})"
    head = ("ptr target", "ptr source", "i32 bytes", "i32 size")
    with m.function("void", "gs_move", *head) as (b, (target, source, bytes_, size)):
        sixteen = (bytes_ == 16) & (size <= 16)
        with b.if_(sixteen, likely=True):
            b.store(b.load("i128", source, align=1), target, align=1)
            b.ret()
        long = b.resize(bytes_, "i64")
        b.emit(f"call void @llvm.memcpy.p0.p0.i64({target!r}, {source!r}, {long!r}, i1 false)")
        with b.if_(size > bytes_):
            padding = b.resize(size - bytes_, "i64")
            b.emit(f"call void @llvm.memset.p0.i64({b.offset(target, long)!r}, i8 0, {padding!r}, i1 false)")


_LINE = 128
"""Bytes that one discard names (PTX ISA, discard)."""


def _discard(m: IrModule) -> None:
    """A plain write of each lane's line, of anything: ones where lanes take turns in reverse, else what is there."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where")
    with m.function("void", "gs_discard", *head) as (b, (warp, site, mask, where)), b.lanes(mask) as lane:
        address = b.load("i64", row(b, where, lane, 8))
        b.call("void", "gs_global_range_store", warp, site, lane, address, i64(_LINE), i32(PLAIN), NULL)
        with b.if_(warp.launch.lanes_back != 0):
            pointer = b.call("ptr", "gs_range", warp, site, lane, address, i32(_LINE), i32(_LINE), i32(GLOBAL))
            b.emit(f"call void @llvm.memset.p0.i64({pointer!r}, i8 -1, i64 {_LINE}, i1 false)")


def _copy(m: IrModule) -> None:
    """cp.async: `size` bytes of shared memory for each lane, `bytes` of them from global memory."""
    head = ("warp* warp", "i32 to", "i32 from", "i32 mask", "ptr targets", "ptr sources", "ptr counts", "i32 size")
    with m.function("void", "gs_copy", *head) as (b, (warp, to, origin, mask, targets, sources, counts, size)):
        queue, entry = warp.copies, b.alloca("ptr")
        with b.if_(mask == 0):
            b.ret()
        b.store(NULL, entry)
        with b.if_(queue != NULL):
            b.store(b.call("ptr", "gs_copies_new", warp, queue, i32(GROUPED), to, mask, size), entry)
            # Lanes that fill up with zeros do not read what is there.
            is_full = b.load(wide("i64"), counts) >= b.splat(b.resize(size, "i64"))
            reading = mask & b.bitcast(is_full, "i32")
            b.call("void", "gs_global_load", warp, origin, reading, b.load(wide("i64"), sources), size, i32(PLAIN))
        with b.lanes(mask) as lane:
            target, source = (b.load("i64", row(b, v, lane, 8)) for v in (targets, sources))
            bytes_ = b.resize(b.load("i64", row(b, counts, lane, 8)), "i32")
            bytes_ = b.intrinsic("umin", bytes_, size)
            pointer = b.call("ptr", "gs_resolve", warp, to, lane, target, size, i32(SHARED))
            data = b.call("ptr", "gs_range", warp, origin, lane, source, bytes_, size, i32(GLOBAL))
            later = b.record(b.load("ptr", entry), COPY)
            with b.if_(later != NULL):
                _fill(b, later, lane, pointer, data, bytes_)
                b.call("void", "gs_unset_range", warp, origin, lane, data, bytes_, i32(0))
            with b.if_(~(later != NULL)):
                b.call("void", "gs_move", pointer, data, bytes_, size)


def _fill(b: Builder, entry: Record, lane: Value, begin: Value, data: Value, bytes_: Value) -> None:
    for name, pointer in (("target", begin), ("source", data)):
        b.store(b.define("i64", f"ptrtoint {pointer!r} to i64"), row(b, entry.field(name), lane, 8))
    b.store(bytes_, row(b, entry.field("bytes"), lane, 4))


def _bulk(m: IrModule) -> None:
    """cp.async.bulk: into shared memory, counted by a barrier in `barriers`; or, where that is null, out of it.

    `reduce`: 0, or how what leaves is combined with what is there (reduce.py).
    """
    head = ("warp* warp", "i32 to", "i32 from", "i32 mask", "ptr targets", "ptr sources", "ptr counts", "ptr barriers",
            "i32 to_space", "i32 from_space", "i32 reduce")  # fmt: skip
    with m.function("void", "gs_bulk", *head) as (b, args):
        warp, to, origin, mask, targets, sources, counts, barriers, to_space, from_space, reduce = args
        queue, held = warp.copies, b.alloca("ptr")
        counted = barriers != NULL
        with b.lanes(mask) as lane:
            target, source, long = (b.load("i64", row(b, v, lane, 8)) for v in (targets, sources, counts))
            bytes_ = b.resize(long, "i32")
            with b.if_((bytes_ & 15) != 0):
                fault, lane_mask = i32(FAULT["invalid_instruction"]), 1 << lane
                b.call("void", "gs_fault", warp, to, fault, lane_mask, long, i32(16))
            pointer = b.call("ptr", "gs_range", warp, to, lane, target, bytes_, i32(16), to_space)
            data = b.call("ptr", "gs_range", warp, origin, lane, source, bytes_, i32(16), from_space)
            b.store(NULL, held)
            with b.if_(counted):
                b.store(b.call("ptr", "gs_mbarrier_place", warp, to, lane, barriers, to_space, i32(0)), held)
                b.call("void", "gs_wgmma_filled", warp, to, lane, pointer, bytes_)
                b.call("void", "gs_unset_range", warp, origin, lane, data, bytes_, i32(0))
            inside = from_space == SHARED
            with b.if_(inside):
                b.call("void", "gs_proxy_check", warp, origin, lane, data, bytes_)
            barrier, site = b.load("ptr", held), b.select(counted, to, origin)
            with b.if_(queue != NULL):
                _bulk_later(b, warp, queue, site, lane, counted, (pointer, data, bytes_, barrier, reduce))
            with b.if_(~(queue != NULL)):
                b.call("void", "gs_deliver", pointer, data, bytes_, i32(0), reduce)
                with b.if_(counted):
                    less = 0 - b.resize(bytes_, "i64")
                    b.call("i64", "gs_mbarrier_apply", warp, to, lane, barrier, i64(0), less, i64(0))


def _bulk_later(
    b: Builder, warp: Record, queue: Record, site: Value, lane: Value, counted: Value, what: tuple[Value, ...]
) -> None:
    pointer, data, bytes_, barrier, reduce = what
    kind = b.select(counted, i32(BULK_IN), i32(BULK_OUT))
    entry = b.record(b.call("ptr", "gs_copies_new", warp, queue, kind, site, 1 << lane, i32(0)), COPY)
    _fill(b, entry, lane, pointer, data, bytes_)
    word = b.define("i64", f"ptrtoint {barrier!r} to i64")
    b.store(word, row(b, entry.field("barrier"), lane, 8))
    entry.reduce = reduce
    with b.if_(counted):
        wake(b, warp, barrier)


def _store_later(m: IrModule) -> None:
    """st.async, `size` bytes of each lane: a copy in that its barrier counts, whose source is the value itself."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr targets", "ptr values", "ptr barriers", "i32 size", "i32 space")
    with m.function("void", "gs_store_later", *head) as (b, args):
        warp, site, mask, targets, values, barriers, size, space = args
        with b.if_(mask == 0):
            b.ret()
        entry = b.record(b.call("ptr", "gs_copies_new", warp, warp.copies, i32(BULK_IN), site, mask, i32(0)), COPY)
        entry.tensor = IMMEDIATE
        with b.lanes(mask) as lane:
            target, value = (b.load("i64", row(b, v, lane, 8)) for v in (targets, values))
            pointer = b.call("ptr", "gs_resolve", warp, site, lane, target, size, space)
            barrier = b.call("ptr", "gs_mbarrier_place", warp, site, lane, barriers, space, i32(0))
            _fill(b, entry, lane, pointer, b.pointer(value), size)
            b.store(b.define("i64", f"ptrtoint {barrier!r} to i64"), row(b, entry.field("barrier"), lane, 8))
            wake(b, warp, barrier)


def _arrive(m: IrModule) -> None:
    """cp.async.mbarrier.arrive: each lane arrives when its copies have landed; `more` expects it as one more first."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where", "i32 space", "i32 more")
    with m.function("void", "gs_copies_arrive", *head) as (b, (warp, site, mask, where, space, more)):
        queue, entry = warp.copies, b.alloca("ptr")
        with b.if_(mask == 0):
            b.ret()
        b.store(NULL, entry)
        with b.if_(queue != NULL):
            b.store(b.call("ptr", "gs_copies_new", warp, queue, i32(ARRIVING), site, mask, i32(0)), entry)
        extra = 0 - b.resize(more, "i64")
        with b.lanes(mask) as lane:
            pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(0))
            b.call("i64", "gs_mbarrier_apply", warp, site, lane, pointer, extra, i64(0), i64(0))
            later = b.record(b.load("ptr", entry), COPY)
            with b.if_(later != NULL):
                word = b.define("i64", f"ptrtoint {pointer!r} to i64")
                b.store(word, row(b, later.field("barrier"), lane, 8))
            with b.if_(~(later != NULL)):
                b.call("i64", "gs_mbarrier_apply", warp, site, lane, pointer, i64(1), i64(0), i64(0))
