"""The runtime's queues of asynchronous copies, which the observed build has: what lands when.

Each warp has a queue. What its lanes copy lands when they wait for the group it is in, or when somebody waits for the
barrier that counts it; so a kernel that reads without waiting reads what was there before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.copy_queue import (
    ARRIVING,
    BOX,
    BULK_IN,
    BULK_OUT,
    COPIES,
    COPY,
    GROUPED,
    IMMEDIATE,
    MAX_COPIES,
)
from gridstride.virtual.abi.execution_records import BLOCK
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.race_shadows import PLAIN, STRONG
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32, i64, increment, warp_at
from gridstride.virtual.runtime.memory.printf_records import row
from gridstride.virtual.runtime.schedule.cluster_blocks import team


def emit_queue(m: IrModule) -> None:
    """gs_copies_*: new, do, trim, commit, wait, land, end."""
    _land_entry(m)
    _new(m)
    _commit(m)
    _wait(m)
    _land(m)
    _end(m)


def wake(b: Builder, warp: Record, barrier: Value) -> None:
    """Whoever waits for a barrier already is to look again: a copy that it counts has been queued."""
    increment(b, b.record(b.call("ptr", "gs_owner", warp, barrier), BLOCK).field("epoch"))


def _entry(b: Builder, queue: Record, index: Value) -> Record:
    return b.record(b.offset(queue, COPIES.size), COPY)[b.resize(index, "i64")]


@contextmanager
def entries(b: Builder, queue: Record, end: Value) -> Iterator[tuple[Value, Record]]:
    """Runs its body for the first `end` entries of a queue, with each one's number and place."""
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        index = b.load("i32", at)
        b.break_if(index >= end, done)
        b.store(index + 1, at)
        yield index, _entry(b, queue, index)


# -- adding and performing ---------------------------------------------------------------------------------------------
def _new(m: IrModule) -> None:
    """A new entry; entries that are through make room, and where there are none the first lands early."""
    head = ("warp* warp", "copies* queue", "i32 kind", "i32 site", "i32 mask", "i32 size")
    with m.function("ptr", "gs_copies_new", *head) as (b, (warp, queue, kind, site, mask, size)):
        with b.if_(queue.count >= MAX_COPIES):
            first = _entry(b, queue, i32(0))
            b.call("void", "gs_copies_do", warp, first, first.mask)
            b.call("void", "gs_copies_trim", queue)
        count = queue.count
        queue.count = count + 1
        entry = _entry(b, queue, count)
        for name, value in (("kind", kind), ("site", site), ("mask", mask), ("size", size)):
            b.put(entry, COPY, name, value)
        for name in ("tensor", "reduce"):
            b.put(entry, COPY, name, 0)
        counted = (kind == BULK_IN) | (kind == ARRIVING)
        with b.if_(counted):
            # A warp that waits for the barrier lands what it counts: it must look again, for now there is more.
            increment(b, warp.block.field("epoch"))
        grouped = kind == GROUPED
        groups = (b.load(wide("i32"), queue.field(n), align=4) for n in ("committed", "bulk_committed"))
        b.store(b.select(grouped, *groups), entry.field("group"), align=4)
        b.call("void", "gs_team_started", warp, entry)
        b.call("void", "gs_race_started", warp, entry)
        b.ret(entry)
    _trim(m)


def _trim(m: IrModule) -> None:
    """Drops the entries of which nothing is left to do."""
    with m.function("void", "gs_copies_trim", "copies* queue") as (b, (queue,)):
        retained = b.alloca("i32")
        b.store(i32(0), retained)
        with (
            entries(b, queue, queue.count) as (_, entry),
            b.if_(entry.mask != 0),
        ):
            to = _entry(b, queue, b.load("i32", retained))
            b.emit(f"call void @llvm.memmove.p0.p0.i64({to!r}, {entry!r}, i64 {COPY.size}, i1 false)")
            b.store(b.load("i32", retained) + 1, retained)
        queue.count = b.load("i32", retained)
    m.signatures["llvm.memmove.p0.p0.i64"] = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"


def _land_entry(m: IrModule) -> None:
    """Performs an entry for some of its lanes, and tells the race detector and the barrier."""
    with m.function("void", "gs_copies_do", "warp* warp", "copy* copy", "i32 lanes") as (b, (warp, entry, lanes)):
        now = lanes & entry.mask
        with b.if_(now == 0):
            b.ret()
        entry.mask ^= now
        kind, size, site = entry.kind, entry.size, entry.site
        copies = kind != ARRIVING
        counted = (kind == BULK_IN) | ~copies
        with b.lanes(now) as lane:
            target, source, barrier = (
                b.load("i64", row(b, entry.field(f), lane, 8)) for f in ("target", "source", "barrier")
            )
            bytes_ = b.load("i32", row(b, entry.field("bytes"), lane, 4))
            value = b.define("i64", f"ptrtoint {row(b, entry.field('source'), lane, 8)!r} to i64")
            source = b.select(entry.tensor == IMMEDIATE, value, source)
            with b.if_(copies):
                _perform(b, warp, entry, lane, target, source, bytes_)
                reduces = entry.reduce != 0
                _record_shared(
                    b, warp, entry, reduces, (site, lane), (target, source, b.intrinsic("umax", size, bytes_))
                )
            with b.if_(counted):
                b.call("void", "gs_proxy_landed", warp)
                b.call("void", "gs_phase_give", warp, b.pointer(barrier), constant("i1", False))
                b.call("void", "gs_lanes_landed", warp)
                b.call("void", "gs_race_order", warp)
                known_clock = b.select(copies, entry.field("known"), NULL)
                b.call("void", "gs_team_give", warp, b.pointer(barrier), known_clock, constant("i1", False))
                arrivals = b.resize(~copies, "i64")
                less = b.select(copies, 0 - b.resize(bytes_, "i64"), i64(0))
                b.call("i64", "gs_mbarrier_apply", warp, site, lane, b.pointer(barrier), arrivals, less, i64(0))


def _perform(b: Builder, warp: Record, entry: Record, lane: Value, target: Value, source: Value, bytes_: Value) -> None:
    box = entry.tensor == BOX
    with b.if_(box):
        out = entry.kind == BULK_OUT
        map_, shared = (b.pointer(b.select(out, *pair)) for pair in ((target, source), (source, target)))
        corner, site = entry.field("corner"), entry.site
        how = b.select(out, entry.reduce + 1, i32(0))
        b.call("void", "gs_tensor_move", warp, site, lane, map_, corner, shared, how)
    with b.if_(~box):
        size, reduce = entry.size, entry.reduce
        _record_global(b, warp, entry, lane, target, source, bytes_)
        b.call("void", "gs_deliver", b.pointer(target), b.pointer(source), bytes_, size, reduce)
        with b.if_(entry.kind == BULK_OUT):
            b.call("void", "gs_unset_range", warp, entry.site, lane, b.pointer(target), bytes_, i32(1))


def _record_global(
    b: Builder, warp: Record, entry: Record, lane: Value, target: Value, source: Value, bytes_: Value
) -> None:  # fmt: skip
    """A bulk copy's other side as a read or write of global memory at this moment; tensor copies tell of each row."""
    kind, site, long = entry.kind, entry.site, b.resize(bytes_, "i64")
    with b.if_(kind == BULK_OUT):
        plain = entry.reduce == 0
        data, strength = b.select(plain, b.pointer(source), NULL), b.select(plain, i32(PLAIN), i32(STRONG))
        b.call("void", "gs_global_range_store", warp, site, lane, target, long, strength, data)
    with b.if_(kind == BULK_IN):
        b.call("void", "gs_global_range_load", warp, site, lane, source, long, i32(PLAIN), NULL)


def _record_shared(
    b: Builder, warp: Record, entry: Record, reduces: Value, who: tuple[Value, Value],
    copied: tuple[Value, Value, Value],
) -> None:  # fmt: skip
    """The copy as a read or write of shared memory at this moment; between blocks, as of when it was started.

    `who`: the site and the lane; `copied`: target, source and bytes.
    """
    (site, lane), (target, source, size) = who, copied
    kind, known_clock = entry.kind, entry.field("known")
    reads = source - warp.shared < warp.shared_size
    with b.if_(reads):
        b.call("void", "gs_team_copied", warp, site, lane, source, size, i32(0), known_clock)
    with b.if_(kind != BULK_OUT):
        b.call("void", "gs_team_copied", warp, site, lane, target, size, b.select(reduces, i32(2), i32(1)), known_clock)
    out = kind == BULK_OUT
    base, mask = warp.shared, 1 << lane
    offset = b.splat(b.resize(b.select(out, source, target) - base, "i32"))
    with b.if_(out):
        b.call("void", "gs_race_load", warp, site, mask, offset, size)
        b.call("void", "gs_unset_copied", warp, site, mask, offset, size)
    with b.if_(~out):
        b.call("void", "gs_race_overwrites", warp, entry, lane, b.extract(offset, 0), size)
        b.call("void", "gs_race_store", warp, site, mask, offset, size)


# -- landing ----------------------------------------------------------------------------------------------------------
def _commit(m: IrModule) -> None:
    for name, field in (("gs_copies_commit", "committed"), ("gs_bulk_commit", "bulk_committed")):
        with m.function("void", name, "warp* warp", "i32 mask") as (b, (warp, mask)):
            queue = warp.copies
            with b.if_(queue != NULL):
                pointer = queue.field(field)
                count = b.load(wide("i32"), pointer, align=4)
                per_lane = b.resize(b.bitcast(mask, wide("i1")), "i32")
                b.store(count + per_lane, pointer, align=4)


def _wait(m: IrModule) -> None:
    """What lanes wait for lands: their groups but the last `pending`, or with `pending` < 0 also what is in none."""
    kinds = (("gs_copies_wait", "committed", GROUPED), ("gs_bulk_wait", "bulk_committed", BULK_OUT),
             ("gs_bulk_read", "bulk_committed", BULK_OUT))  # fmt: skip
    for name, field, kind in kinds:
        with m.function("void", name, "warp* warp", "i32 mask", "i32 pending") as (b, (warp, mask, pending)):
            queue = warp.copies
            with b.if_(queue != NULL):
                closed = b.load(wide("i32"), queue.field(field), align=4)
                limit = closed - b.splat(pending)
                if name == "gs_bulk_read":
                    _hold(b, warp, queue)
                with (
                    entries(b, queue, queue.count) as (_, entry),
                    b.if_(entry.kind == kind),
                ):
                    group = b.load(wide("i32"), entry.field("group"), align=4)
                    due = b.bitcast(b.compare("slt", group, limit), "i32")
                    landing = due & mask & entry.mask
                    b.call("void", "gs_copies_do", warp, entry, landing)
                    if kind == GROUPED:
                        b.call("void", "gs_lanes_copied", warp, entry, landing)
                b.call("void", "gs_copies_trim", queue)
                if name == "gs_bulk_wait":
                    _finish(b, warp, queue)
                elif name == "gs_bulk_read":
                    b.call("void", "gs_lanes_publish", warp)
                    b.call("void", "gs_race_meet", warp)  # the stamp was for the copies alone


def _hold(b: Builder, warp: Record, queue: Record) -> None:
    """wait_group.read: what is performed now has read its source, and may arrive as late as a wait without .read."""
    race, own = warp.block.race, warp.warp
    with b.if_((race != NULL) & (queue.count != 0)):
        stamp = b.call("i32", "gs_stamps_take", race, i32(1))
        b.call("void", "gs_stamp_hold", race, stamp, own, queue.unfinished)
        queue.unfinished = stamp
        b.store(stamp, row(b, race.field("current"), own, 4))


def _finish(b: Builder, warp: Record, queue: Record) -> None:
    """wait_group: what was written has arrived. Of groups that may still be pending, too: no order is missed."""
    race, last = warp.block.race, queue.unfinished
    with b.if_((race != NULL) & (last != 0)):
        b.call("void", "gs_stamp_finish", race, last)
        queue.unfinished = 0
        b.call("void", "gs_lanes_publish", warp)
        b.call("void", "gs_race_meet", warp)


def _land(m: IrModule) -> None:
    """Lands what a barrier counts until its phase ends, in all queues of the block or its cluster; gives 1 where there
    was something. What comes after the phase has not been waited for: it is not there yet for who reads it.
    """
    with m.function("i32", "gs_copies_land", "warp* warp", "ptr barrier") as (b, (warp, barrier)):
        landed, at = b.alloca("i32"), b.alloca("i32")
        phase = b.load("i64", barrier) >> 63
        b.store(i32(0), landed)
        with b.if_(~(warp.copies != NULL)):
            b.ret(i32(0))
        block = warp.block
        target = b.splat(b.define("i64", f"ptrtoint {barrier!r} to i64"))
        with team(b, block) as member:
            b.store(i32(0), at)
            with b.loop() as done:
                number = b.load("i32", at)
                b.break_if(number >= member.warp_count, done)
                b.store(number + 1, at)
                _land_of(b, warp_at(b, member, number), (barrier, phase), target, landed)
        b.ret(b.load("i32", landed))


def _land_of(b: Builder, other: Record, waited: tuple[Value, Value], target: Value, landed: Value) -> None:
    """Lands what is in one warp's queue for the barrier, while the phase that is waited for lasts."""
    barrier, phase = waited
    queue = other.copies
    with entries(b, queue, queue.count) as (index, entry):
        kind = entry.kind
        mine = b.load(wide("i64"), entry.field("barrier"), align=8) == target
        lanes = b.bitcast(mine, "i32") & entry.mask
        counted = (kind == BULK_IN) | (kind == ARRIVING)
        lasts = (b.load("i64", barrier) >> 63) == phase
        with b.if_(counted & lasts & (lanes != 0)):
            b.store(i32(1), landed)
            with b.if_(kind == ARRIVING):
                _before(b, other, queue, index, lanes)
            b.call("void", "gs_copies_do", other, entry, lanes)
            with b.if_(kind == BULK_IN):
                b.call("void", "gs_lanes_received", other, entry, lanes)
    b.call("void", "gs_copies_trim", queue)


def _before(b: Builder, warp: Record, queue: Record, end: Value, lanes: Value) -> None:
    """Lands the cp.async copies that lanes issued before an entry."""
    with entries(b, queue, end) as (_, entry), b.if_(entry.kind == GROUPED):
        landing = lanes & entry.mask
        b.call("void", "gs_copies_do", warp, entry, lanes)
        b.call("void", "gs_lanes_landed", warp)
        b.call("void", "gs_lanes_received", warp, entry, landing)


def _end(m: IrModule) -> None:
    """When a warp is through: bulk copies out of shared memory that nobody waited for still reach their target. On
    hardware they may read what the next block has put there by then: a finding.
    """
    with m.function("void", "gs_copies_end", "warp* warp") as (b, (warp,)):
        queue = warp.copies
        with b.if_(queue != NULL):
            with (
                entries(b, queue, queue.count) as (_, entry),
                b.if_((entry.kind == BULK_OUT) & (entry.mask != 0)),
            ):
                _report_unwaited(b, warp, entry)
                b.call("void", "gs_copies_do", warp, entry, i32(-1))
            b.call("void", "gs_copies_trim", queue)


def _report_unwaited(b: Builder, warp: Record, entry: Record) -> None:
    """A copy whose thread has ended without waiting for it, which nobody else can: the sides are one and the same."""
    lane = b.call("i32", "llvm.cttz.i32", entry.mask, constant("i1", True))
    source = b.load("i64", row(b, entry.field("source"), lane, 8))
    kind, who = i32(FAULT["unwaited_copy"]), (warp.warp << 8) | lane
    with b.if_(warp.observed != 0):
        b.call("void", "gs_report", warp, kind, entry.site, lane, entry.site, who, source - warp.shared)
