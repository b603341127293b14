"""The runtime's asynchronous copies: at once in the fast build, as late as is legal in the observed one.

There each warp has a queue. What its lanes copy lands when they wait for the group it is in, or when somebody waits for
the barrier that counts it; so a kernel that reads without waiting reads what was there before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, wide
from gridstride.virtual.lowering.runtime import _warp_at, i32, i64
from gridstride.virtual.lowering.runtime_memory import GLOBAL, SHARED, _search, _within
from gridstride.virtual.lowering.runtime_output import row
from gridstride.virtual.machine.layout import (
    ALLOCATION,
    ARRIVING,
    BLOCK,
    BULK_IN,
    BULK_OUT,
    COPIES,
    COPY,
    FAULT,
    GROUPED,
    MAX_COPIES,
    WARP,
)

NULL = Value("null", "ptr")


def emit_copies(m: Module) -> None:
    """gs_copy, gs_bulk, gs_copies_* and gs_range, with what they need."""
    _range(m)
    _move(m)
    _land_entry(m)
    _new(m)
    _copy(m)
    _bulk(m)
    _arrive(m)
    _commit(m)
    _wait(m)
    _land(m)
    _end(m)


def _flag(b: Builder, x: Value) -> Value:
    return b.compare("ne", x, NULL)


def _not(b: Builder, x: Value) -> Value:
    return b.op("xor", x, constant("i1", True))


# -- one lane ---------------------------------------------------------------------------------------------------------
def _range(m: Module) -> None:
    """Where any number of bytes are, checked as a whole and aligned to `align`."""
    head = ("ptr warp", "i32 site", "i32 lane", "i64 address", "i32 size", "i32 align", "i32 space")
    with m.function("ptr", "gs_range", *head) as (b, (warp, site, lane, address, size, align, space)):
        lanes, bytes_ = b.op("shl", i32(1), lane), b.resize(size, "i64")
        with b.if_(b.compare("eq", size, i32(0))):
            b.ret(b.pointer(address))
        odd = b.op("and", address, b.op("sub", b.resize(align, "i64"), i64(1)))
        with b.if_(b.compare("ne", odd, i64(0))):
            b.call("void", "gs_fault_in", warp, site, i32(FAULT["misaligned"]), lanes, address, align, space)
        extent, base = b.get(warp, WARP, "shared_size"), b.get(warp, WARP, "shared")
        shared = b.compare("eq", space, i32(SHARED))
        with b.if_(b.op("and", shared, _within(b, address, bytes_, i64(0), extent))):
            b.ret(b.offset(b.pointer(base), address))
        with b.if_(_not(b, shared)):
            with b.if_(b.call("i1", "gs_heap_check", warp, site, lanes, address, size)):
                b.ret(b.pointer(address))
            found = _search(b, b.get(warp, WARP, "launch"), address)
            start, length = (b.load("i64", b.offset(found, ALLOCATION.offset[f])) for f in ("start", "size"))
            inside = b.op("or", _within(b, address, bytes_, start, length), _within(b, address, bytes_, base, extent))
            with b.if_(inside):
                b.ret(b.pointer(address))
        b.call("void", "gs_fault_in", warp, site, i32(FAULT["out_of_bounds"]), lanes, address, size, space)
        b.unreachable()


def _move(m: Module) -> None:
    """`bytes` from source to target, then zeros up to `size`."""
    signatures = {"llvm.memcpy.p0.p0.i64": "ptr, ptr, i64, i1", "llvm.memset.p0.i64": "ptr, i8, i64, i1"}
    for name, types in signatures.items():
        m.signatures[name] = f"declare void @{name}({types})"
    head = ("ptr target", "ptr source", "i32 bytes", "i32 size")
    with m.function("void", "gs_move", *head) as (b, (target, source, bytes_, size)):
        sixteen = b.op("and", b.compare("eq", bytes_, i32(16)), b.compare("ule", size, i32(16)))
        with b.if_(sixteen, likely=True):
            b.store(b.load("i128", source, align=1), target, align=1)
            b.ret()
        long = b.resize(bytes_, "i64")
        b.emit(f"call void @llvm.memcpy.p0.p0.i64({target!r}, {source!r}, {long!r}, i1 false)")
        with b.if_(b.compare("ugt", size, bytes_)):
            rest = b.resize(b.op("sub", size, bytes_), "i64")
            b.emit(f"call void @llvm.memset.p0.i64({b.offset(target, long)!r}, i8 0, {rest!r}, i1 false)")


# -- the queue --------------------------------------------------------------------------------------------------------
def _entry(b: Builder, queue: Value, index: Value) -> Value:
    return b.offset(b.offset(queue, COPIES.size), b.op("mul", b.resize(index, "i64"), i64(COPY.size)))


@contextmanager
def _entries(b: Builder, queue: Value, end: Value) -> Iterator[tuple[Value, Value]]:
    """Runs its body for the first `end` entries of a queue, with each one's number and place."""
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        index = b.load("i32", at)
        b.break_if(b.compare("uge", index, end), done)
        b.store(b.op("add", index, i32(1)), at)
        yield index, _entry(b, queue, index)


def _new(m: Module) -> None:
    """A new entry; entries that are through make room, and where there are none the first lands early."""
    head = ("ptr warp", "ptr queue", "i32 kind", "i32 site", "i32 mask", "i32 size")
    with m.function("ptr", "gs_copies_new", *head) as (b, (warp, queue, kind, site, mask, size)):
        with b.if_(b.compare("uge", b.get(queue, COPIES, "count"), i32(MAX_COPIES))):
            first = _entry(b, queue, i32(0))
            b.call("void", "gs_copies_do", warp, first, b.get(first, COPY, "mask"))
            b.call("void", "gs_copies_trim", queue)
        count = b.get(queue, COPIES, "count")
        b.put(queue, COPIES, "count", b.op("add", count, i32(1)))
        entry = _entry(b, queue, count)
        for name, value in (("kind", kind), ("site", site), ("mask", mask), ("size", size)):
            b.put(entry, COPY, name, value)
        grouped = b.compare("eq", kind, i32(GROUPED))
        groups = (b.load(wide("i32"), b.field(queue, COPIES, n), align=4) for n in ("committed", "bulk_committed"))
        b.store(b.select(grouped, *groups), b.field(entry, COPY, "group"), align=4)
        b.ret(entry)
    with m.function("void", "gs_copies_trim", "ptr queue") as (b, (queue,)):
        kept = b.alloca("i32")
        b.store(i32(0), kept)
        with (
            _entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry),
            b.if_(b.compare("ne", b.get(entry, COPY, "mask"), i32(0))),
        ):
            to = _entry(b, queue, b.load("i32", kept))
            b.emit(f"call void @llvm.memmove.p0.p0.i64({to!r}, {entry!r}, i64 {COPY.size}, i1 false)")
            b.store(b.op("add", b.load("i32", kept), i32(1)), kept)
        b.put(queue, COPIES, "count", b.load("i32", kept))
    m.signatures["llvm.memmove.p0.p0.i64"] = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"


def _land_entry(m: Module) -> None:
    """Performs an entry for some of its lanes, and tells the race detector and the barrier."""
    with m.function("void", "gs_copies_do", "ptr warp", "ptr copy", "i32 lanes") as (b, (warp, entry, lanes)):
        now = b.op("and", lanes, b.get(entry, COPY, "mask"))
        with b.if_(b.compare("eq", now, i32(0))):
            b.ret()
        b.put(entry, COPY, "mask", b.op("xor", b.get(entry, COPY, "mask"), now))
        kind, size, site = (b.get(entry, COPY, f) for f in ("kind", "size", "site"))
        copies = b.compare("ne", kind, i32(ARRIVING))
        counted = b.op("or", b.compare("eq", kind, i32(BULK_IN)), _not(b, copies))
        with b.lanes(now) as lane:
            target, source, barrier = (
                b.load("i64", row(b, b.field(entry, COPY, f), lane, 8)) for f in ("target", "source", "barrier")
            )
            bytes_ = b.load("i32", row(b, b.field(entry, COPY, "bytes"), lane, 4))
            with b.if_(copies):
                b.call("void", "gs_move", b.pointer(target), b.pointer(source), bytes_, size)
                _tell(b, warp, kind, site, lane, target, source, b.intrinsic("umax", size, bytes_))
            with b.if_(counted):
                b.call("void", "gs_race_sync", warp)
                arrivals = b.resize(_not(b, copies), "i64")
                less = b.select(copies, b.op("sub", i64(0), b.resize(bytes_, "i64")), i64(0))
                b.call("i64", "gs_mbarrier_apply", warp, site, lane, b.pointer(barrier), arrivals, less, i64(0))


def _tell(
    b: Builder, warp: Value, kind: Value, site: Value, lane: Value, target: Value, source: Value, size: Value
) -> None:
    """The copy as a read or write of shared memory at this moment."""
    out = b.compare("eq", kind, i32(BULK_OUT))
    base, mask = b.get(warp, WARP, "shared"), b.op("shl", i32(1), lane)
    offset = b.splat(b.resize(b.op("sub", b.select(out, source, target), base), "i32"))
    with b.if_(out):
        b.call("void", "gs_race_load", warp, site, mask, offset, size)
    with b.if_(_not(b, out)):
        b.call("void", "gs_race_store", warp, site, mask, offset, size)


# -- issuing ----------------------------------------------------------------------------------------------------------
def _copy(m: Module) -> None:
    """cp.async: `size` bytes of shared memory for each lane, `bytes` of them from global memory."""
    head = ("ptr warp", "i32 to", "i32 from", "i32 mask", "ptr targets", "ptr sources", "ptr counts", "i32 size")
    with m.function("void", "gs_copy", *head) as (b, (warp, to, origin, mask, targets, sources, counts, size)):
        queue, entry = b.get(warp, WARP, "copies"), b.alloca("ptr")
        with b.if_(b.compare("eq", mask, i32(0))):
            b.ret()
        b.store(NULL, entry)
        with b.if_(_flag(b, queue)):
            b.store(b.call("ptr", "gs_copies_new", warp, queue, i32(GROUPED), to, mask, size), entry)
        with b.lanes(mask) as lane:
            target, source = (b.load("i64", row(b, v, lane, 8)) for v in (targets, sources))
            bytes_ = b.resize(b.load("i64", row(b, counts, lane, 8)), "i32")
            bytes_ = b.intrinsic("umin", bytes_, size)
            place = b.call("ptr", "gs_resolve", warp, to, lane, target, size, i32(SHARED))
            data = b.call("ptr", "gs_range", warp, origin, lane, source, bytes_, size, i32(GLOBAL))
            later = b.load("ptr", entry)
            with b.if_(_flag(b, later)):
                _fill(b, later, lane, place, data, bytes_)
            with b.if_(_not(b, _flag(b, later))):
                b.call("void", "gs_move", place, data, bytes_, size)


def _fill(b: Builder, entry: Value, lane: Value, place: Value, data: Value, bytes_: Value) -> None:
    for name, pointer in (("target", place), ("source", data)):
        b.store(b.define("i64", f"ptrtoint {pointer!r} to i64"), row(b, b.field(entry, COPY, name), lane, 8))
    b.store(bytes_, row(b, b.field(entry, COPY, "bytes"), lane, 4))


def _bulk(m: Module) -> None:
    """cp.async.bulk: into shared memory, counted by a barrier in `barriers`; or, where that is null, out of it."""
    head = ("ptr warp", "i32 to", "i32 from", "i32 mask", "ptr targets", "ptr sources", "ptr counts", "ptr barriers",
            "i32 to_space", "i32 from_space")  # fmt: skip
    with m.function("void", "gs_bulk", *head) as (b, args):
        warp, to, origin, mask, targets, sources, counts, barriers, to_space, from_space = args
        queue = b.get(warp, WARP, "copies")
        counted = _flag(b, barriers)
        kind = b.select(counted, i32(BULK_IN), i32(BULK_OUT))
        with b.lanes(mask) as lane:
            target, source, long = (b.load("i64", row(b, v, lane, 8)) for v in (targets, sources, counts))
            bytes_ = b.resize(long, "i32")
            with b.if_(b.compare("ne", b.op("and", bytes_, i32(15)), i32(0))):
                fault, one = i32(FAULT["misaligned"]), b.op("shl", i32(1), lane)
                b.call("void", "gs_fault", warp, to, fault, one, long, i32(16))
            place = b.call("ptr", "gs_range", warp, to, lane, target, bytes_, i32(16), to_space)
            data = b.call("ptr", "gs_range", warp, origin, lane, source, bytes_, i32(16), from_space)
            barrier = b.alloca("ptr")
            b.store(NULL, barrier)
            with b.if_(counted):
                b.store(b.call("ptr", "gs_mbarrier_place", warp, to, lane, barriers, i32(SHARED), i32(0)), barrier)
            object_ = b.load("ptr", barrier)
            with b.if_(_flag(b, queue)):
                one = b.op("shl", i32(1), lane)
                where = b.select(counted, to, origin)
                entry = b.call("ptr", "gs_copies_new", warp, queue, kind, where, one, i32(0))
                _fill(b, entry, lane, place, data, bytes_)
                word = b.define("i64", f"ptrtoint {object_!r} to i64")
                b.store(word, row(b, b.field(entry, COPY, "barrier"), lane, 8))
            with b.if_(_not(b, _flag(b, queue))):
                b.call("void", "gs_move", place, data, bytes_, i32(0))
                with b.if_(counted):
                    less = b.op("sub", i64(0), b.op("and", long, i64(0xFFFFFFFF)))
                    b.call("i64", "gs_mbarrier_apply", warp, to, lane, object_, i64(0), less, i64(0))


def _arrive(m: Module) -> None:
    """cp.async.mbarrier.arrive: each lane arrives when its copies have landed; `more` expects it as one more first."""
    head = ("ptr warp", "i32 site", "i32 mask", "ptr where", "i32 space", "i32 more")
    with m.function("void", "gs_copies_arrive", *head) as (b, (warp, site, mask, where, space, more)):
        queue, entry = b.get(warp, WARP, "copies"), b.alloca("ptr")
        with b.if_(b.compare("eq", mask, i32(0))):
            b.ret()
        b.store(NULL, entry)
        with b.if_(_flag(b, queue)):
            b.store(b.call("ptr", "gs_copies_new", warp, queue, i32(ARRIVING), site, mask, i32(0)), entry)
        extra = b.op("sub", i64(0), b.resize(more, "i64"))
        with b.lanes(mask) as lane:
            place = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(0))
            b.call("i64", "gs_mbarrier_apply", warp, site, lane, place, extra, i64(0), i64(0))
            later = b.load("ptr", entry)
            with b.if_(_flag(b, later)):
                word = b.define("i64", f"ptrtoint {place!r} to i64")
                b.store(word, row(b, b.field(later, COPY, "barrier"), lane, 8))
            with b.if_(_not(b, _flag(b, later))):
                b.call("i64", "gs_mbarrier_apply", warp, site, lane, place, i64(1), i64(0), i64(0))


# -- landing ----------------------------------------------------------------------------------------------------------
def _commit(m: Module) -> None:
    for name, field in (("gs_copies_commit", "committed"), ("gs_bulk_commit", "bulk_committed")):
        with m.function("void", name, "ptr warp", "i32 mask") as (b, (warp, mask)):
            queue = b.get(warp, WARP, "copies")
            with b.if_(_flag(b, queue)):
                place = b.field(queue, COPIES, field)
                count = b.load(wide("i32"), place, align=4)
                one = b.resize(b.bitcast(mask, wide("i1")), "i32")
                b.store(b.op("add", count, one), place, align=4)


def _wait(m: Module) -> None:
    """What lanes wait for lands: their groups but the last `pending`, or with `pending` < 0 also what is in none."""
    kinds = (("gs_copies_wait", "committed", GROUPED), ("gs_bulk_wait", "bulk_committed", BULK_OUT))
    for name, field, kind in kinds:
        with m.function("void", name, "ptr warp", "i32 mask", "i32 pending") as (b, (warp, mask, pending)):
            queue = b.get(warp, WARP, "copies")
            with b.if_(_flag(b, queue)):
                closed = b.load(wide("i32"), b.field(queue, COPIES, field), align=4)
                limit = b.op("sub", closed, b.splat(pending))
                with (
                    _entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry),
                    b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(kind))),
                ):
                    group = b.load(wide("i32"), b.field(entry, COPY, "group"), align=4)
                    due = b.bitcast(b.compare("slt", group, limit), "i32")
                    b.call("void", "gs_copies_do", warp, entry, b.op("and", due, mask))
                b.call("void", "gs_copies_trim", queue)


def _land(m: Module) -> None:
    """Lands what a barrier counts, in all queues of the block; gives 1 where there was something."""
    with m.function("i32", "gs_copies_land", "ptr warp", "ptr barrier") as (b, (warp, barrier)):
        landed, at = b.alloca("i32"), b.alloca("i32")
        b.store(i32(0), landed)
        with b.if_(_not(b, _flag(b, b.get(warp, WARP, "copies")))):
            b.ret(i32(0))
        block = b.get(warp, WARP, "block")
        wanted = b.splat(b.define("i64", f"ptrtoint {barrier!r} to i64"))
        b.store(i32(0), at)
        with b.loop() as done:
            number = b.load("i32", at)
            b.break_if(b.compare("uge", number, b.get(block, BLOCK, "warp_count")), done)
            b.store(b.op("add", number, i32(1)), at)
            other = _warp_at(b, block, number)
            queue = b.get(other, WARP, "copies")
            with _entries(b, queue, b.get(queue, COPIES, "count")) as (index, entry):
                kind = b.get(entry, COPY, "kind")
                mine = b.compare("eq", b.load(wide("i64"), b.field(entry, COPY, "barrier"), align=8), wanted)
                lanes = b.op("and", b.bitcast(mine, "i32"), b.get(entry, COPY, "mask"))
                counted = b.op("or", b.compare("eq", kind, i32(BULK_IN)), b.compare("eq", kind, i32(ARRIVING)))
                with b.if_(b.op("and", counted, b.compare("ne", lanes, i32(0)))):
                    b.store(i32(1), landed)
                    with b.if_(b.compare("eq", kind, i32(ARRIVING))):
                        _before(b, other, queue, index, lanes)
                    b.call("void", "gs_copies_do", other, entry, lanes)
            b.call("void", "gs_copies_trim", queue)
        b.ret(b.load("i32", landed))


def _before(b: Builder, warp: Value, queue: Value, end: Value, lanes: Value) -> None:
    """Lands the cp.async copies that lanes issued before an entry."""
    with _entries(b, queue, end) as (_, entry), b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(GROUPED))):
        b.call("void", "gs_copies_do", warp, entry, lanes)


def _end(m: Module) -> None:
    """When a warp is through: bulk copies out of shared memory that nobody waited for still reach their target."""
    with m.function("void", "gs_copies_end", "ptr warp") as (b, (warp,)):
        queue = b.get(warp, WARP, "copies")
        with b.if_(_flag(b, queue)):
            with (
                _entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry),
                b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(BULK_OUT))),
            ):
                b.call("void", "gs_copies_do", warp, entry, i32(-1))
            b.call("void", "gs_copies_trim", queue)
