"""The runtime's queues of asynchronous copies, which the observed build has: what lands when.

Each warp has a queue. What its lanes copy lands when they wait for the group it is in, or when somebody waits for the
barrier that counts it; so a kernel that reads without waiting reads what was there before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, wide
from gridstride.virtual.lowering.runtime.clusters import team
from gridstride.virtual.lowering.runtime.common import i32, i64, increment, warp_at
from gridstride.virtual.lowering.runtime.output import row
from gridstride.virtual.machine.layout import (
    ARRIVING,
    BLOCK,
    BULK_IN,
    BULK_OUT,
    COPIES,
    COPY,
    GROUPED,
    MAX_COPIES,
    PLAIN,
    STRONG,
    WARP,
)

NULL = Value("null", "ptr")


def emit_queue(m: Module) -> None:
    """gs_copies_*: new, do, trim, commit, wait, land, end."""
    _land_entry(m)
    _new(m)
    _commit(m)
    _wait(m)
    _land(m)
    _end(m)


def present(b: Builder, x: Value) -> Value:
    return b.compare("ne", x, NULL)


def wake(b: Builder, warp: Value, barrier: Value) -> None:
    """Whoever waits for a barrier already is to look again: a copy that it counts has been queued."""
    increment(b, b.field(b.call("ptr", "gs_owner", warp, barrier), BLOCK, "epoch"))


def inverted(b: Builder, x: Value) -> Value:
    return b.op("xor", x, constant("i1", True))


def _entry(b: Builder, queue: Value, index: Value) -> Value:
    return b.offset(b.offset(queue, COPIES.size), b.op("mul", b.resize(index, "i64"), i64(COPY.size)))


@contextmanager
def entries(b: Builder, queue: Value, end: Value) -> Iterator[tuple[Value, Value]]:
    """Runs its body for the first `end` entries of a queue, with each one's number and place."""
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        index = b.load("i32", at)
        b.break_if(b.compare("uge", index, end), done)
        b.store(b.op("add", index, i32(1)), at)
        yield index, _entry(b, queue, index)


# -- adding and performing ---------------------------------------------------------------------------------------------
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
        for name in ("tensor", "reduce"):
            b.put(entry, COPY, name, 0)
        counted = b.op("or", b.compare("eq", kind, i32(BULK_IN)), b.compare("eq", kind, i32(ARRIVING)))
        with b.if_(counted):
            # A warp that waits for the barrier lands what it counts: it must look again, for now there is more.
            increment(b, b.field(b.get(warp, WARP, "block"), BLOCK, "epoch"))
        grouped = b.compare("eq", kind, i32(GROUPED))
        groups = (b.load(wide("i32"), b.field(queue, COPIES, n), align=4) for n in ("committed", "bulk_committed"))
        b.store(b.select(grouped, *groups), b.field(entry, COPY, "group"), align=4)
        b.call("void", "gs_team_started", warp, entry)
        b.ret(entry)
    _trim(m)


def _trim(m: Module) -> None:
    """Drops the entries of which nothing is left to do."""
    with m.function("void", "gs_copies_trim", "ptr queue") as (b, (queue,)):
        kept = b.alloca("i32")
        b.store(i32(0), kept)
        with (
            entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry),
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
        counted = b.op("or", b.compare("eq", kind, i32(BULK_IN)), inverted(b, copies))
        with b.lanes(now) as lane:
            target, source, barrier = (
                b.load("i64", row(b, b.field(entry, COPY, f), lane, 8)) for f in ("target", "source", "barrier")
            )
            bytes_ = b.load("i32", row(b, b.field(entry, COPY, "bytes"), lane, 4))
            with b.if_(copies):
                _perform(b, warp, entry, lane, target, source, bytes_)
                reduces = b.compare("ne", b.get(entry, COPY, "reduce"), i32(0))
                _tell(b, warp, entry, reduces, site, lane, target, source, b.intrinsic("umax", size, bytes_))
            with b.if_(counted):
                b.call("void", "gs_proxy_landed", warp)
                b.call("void", "gs_race_meet", warp)
                known = b.select(copies, b.field(entry, COPY, "known"), NULL)
                b.call("void", "gs_team_give", warp, b.pointer(barrier), known)
                arrivals = b.resize(inverted(b, copies), "i64")
                less = b.select(copies, b.op("sub", i64(0), b.resize(bytes_, "i64")), i64(0))
                b.call("i64", "gs_mbarrier_apply", warp, site, lane, b.pointer(barrier), arrivals, less, i64(0))


def _perform(b: Builder, warp: Value, entry: Value, lane: Value, target: Value, source: Value, bytes_: Value) -> None:
    box = b.compare("ne", b.get(entry, COPY, "tensor"), i32(0))
    with b.if_(box):
        out = b.compare("eq", b.get(entry, COPY, "kind"), i32(BULK_OUT))
        map_, shared = (b.pointer(b.select(out, *pair)) for pair in ((target, source), (source, target)))
        corner, site = b.field(entry, COPY, "corner"), b.get(entry, COPY, "site")
        how = b.select(out, b.op("add", b.get(entry, COPY, "reduce"), i32(1)), i32(0))
        b.call("void", "gs_tensor_move", warp, site, lane, map_, corner, shared, how)
    with b.if_(inverted(b, box)):
        size, reduce = (b.get(entry, COPY, f) for f in ("size", "reduce"))
        _tell_global(b, warp, entry, lane, target, source, bytes_)
        b.call("void", "gs_deliver", b.pointer(target), b.pointer(source), bytes_, size, reduce)
        with b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(BULK_OUT))):
            b.call("void", "gs_unset_range", warp, b.get(entry, COPY, "site"), lane, b.pointer(target), bytes_, i32(1))


def _tell_global(
    b: Builder, warp: Value, entry: Value, lane: Value, target: Value, source: Value, bytes_: Value
) -> None:  # fmt: skip
    """A bulk copy's other side as a read or write of global memory at this moment; tensor copies tell of each row."""
    kind, site, long = b.get(entry, COPY, "kind"), b.get(entry, COPY, "site"), b.resize(bytes_, "i64")
    with b.if_(b.compare("eq", kind, i32(BULK_OUT))):
        plain = b.compare("eq", b.get(entry, COPY, "reduce"), i32(0))
        data, strength = b.select(plain, b.pointer(source), NULL), b.select(plain, i32(PLAIN), i32(STRONG))
        b.call("void", "gs_global_range_store", warp, site, lane, target, long, strength, data)
    with b.if_(b.compare("eq", kind, i32(BULK_IN))):
        b.call("void", "gs_global_range_load", warp, site, lane, source, long, i32(PLAIN), NULL)


def _tell(
    b: Builder, warp: Value, entry: Value, reduces: Value, site: Value, lane: Value, target: Value, source: Value,
    size: Value,
) -> None:  # fmt: skip
    """The copy as a read or write of shared memory at this moment; between blocks, as of when it was started."""
    kind, known = b.get(entry, COPY, "kind"), b.field(entry, COPY, "known")
    reads = b.compare("ult", b.op("sub", source, b.get(warp, WARP, "shared")), b.get(warp, WARP, "shared_size"))
    with b.if_(reads):
        b.call("void", "gs_team_copied", warp, site, lane, source, size, i32(0), known)
    with b.if_(b.compare("ne", kind, i32(BULK_OUT))):
        b.call("void", "gs_team_copied", warp, site, lane, target, size, b.select(reduces, i32(2), i32(1)), known)
    out = b.compare("eq", kind, i32(BULK_OUT))
    base, mask = b.get(warp, WARP, "shared"), b.op("shl", i32(1), lane)
    offset = b.splat(b.resize(b.op("sub", b.select(out, source, target), base), "i32"))
    with b.if_(out):
        b.call("void", "gs_race_load", warp, site, mask, offset, size)
        b.call("void", "gs_unset_copied", warp, site, mask, offset, size)
    with b.if_(inverted(b, out)):
        b.call("void", "gs_race_store", warp, site, mask, offset, size)


# -- landing ----------------------------------------------------------------------------------------------------------
def _commit(m: Module) -> None:
    for name, field in (("gs_copies_commit", "committed"), ("gs_bulk_commit", "bulk_committed")):
        with m.function("void", name, "ptr warp", "i32 mask") as (b, (warp, mask)):
            queue = b.get(warp, WARP, "copies")
            with b.if_(present(b, queue)):
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
            with b.if_(present(b, queue)):
                closed = b.load(wide("i32"), b.field(queue, COPIES, field), align=4)
                limit = b.op("sub", closed, b.splat(pending))
                with (
                    entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry),
                    b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(kind))),
                ):
                    group = b.load(wide("i32"), b.field(entry, COPY, "group"), align=4)
                    due = b.bitcast(b.compare("slt", group, limit), "i32")
                    b.call("void", "gs_copies_do", warp, entry, b.op("and", due, mask))
                b.call("void", "gs_copies_trim", queue)


def _land(m: Module) -> None:
    """Lands what a barrier counts, in all queues of the block or its cluster; gives 1 where there was something."""
    with m.function("i32", "gs_copies_land", "ptr warp", "ptr barrier") as (b, (warp, barrier)):
        landed, at = b.alloca("i32"), b.alloca("i32")
        b.store(i32(0), landed)
        with b.if_(inverted(b, present(b, b.get(warp, WARP, "copies")))):
            b.ret(i32(0))
        block = b.get(warp, WARP, "block")
        wanted = b.splat(b.define("i64", f"ptrtoint {barrier!r} to i64"))
        with team(b, block) as member:
            b.store(i32(0), at)
            with b.loop() as done:
                number = b.load("i32", at)
                b.break_if(b.compare("uge", number, b.get(member, BLOCK, "warp_count")), done)
                b.store(b.op("add", number, i32(1)), at)
                _land_of(b, warp_at(b, member, number), wanted, landed)
        b.ret(b.load("i32", landed))


def _land_of(b: Builder, other: Value, wanted: Value, landed: Value) -> None:
    """Lands what is in one warp's queue for the barrier."""
    queue = b.get(other, WARP, "copies")
    with entries(b, queue, b.get(queue, COPIES, "count")) as (index, entry):
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


def _before(b: Builder, warp: Value, queue: Value, end: Value, lanes: Value) -> None:
    """Lands the cp.async copies that lanes issued before an entry."""
    with entries(b, queue, end) as (_, entry), b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(GROUPED))):
        b.call("void", "gs_copies_do", warp, entry, lanes)


def _end(m: Module) -> None:
    """When a warp is through: bulk copies out of shared memory that nobody waited for still reach their target."""
    with m.function("void", "gs_copies_end", "ptr warp") as (b, (warp,)):
        queue = b.get(warp, WARP, "copies")
        with b.if_(present(b, queue)):
            with (
                entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry),
                b.if_(b.compare("eq", b.get(entry, COPY, "kind"), i32(BULK_OUT))),
            ):
                b.call("void", "gs_copies_do", warp, entry, i32(-1))
            b.call("void", "gs_copies_trim", queue)
