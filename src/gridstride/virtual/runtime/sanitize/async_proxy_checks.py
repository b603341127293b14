"""What the observed build finds around asynchronous copies: accesses before a wait, missing proxy fences."""

from __future__ import annotations

from gridstride.virtual.abi.copy_queue import ARRIVING, BULK_OUT
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32, warp_at
from gridstride.virtual.runtime.copies.async_copy_queue import entries
from gridstride.virtual.runtime.memory.printf_records import row
from gridstride.virtual.runtime.sanitize.clocks import row_of
from gridstride.virtual.runtime.sanitize.shared_races import clock_of, plane_of, warp_of
from gridstride.virtual.runtime.schedule.cluster_blocks import team


def emit_proxy(m: IrModule) -> None:
    """gs_copies_check, gs_proxy_fence, gs_proxy_landed, gs_proxy_check."""
    _check(m)
    _fence(m)
    _landed(m)
    _fenced(m)


# -- accesses to what is still being copied ---------------------------------------------------------------------------
def _check(m: IrModule) -> None:
    """Reports an access to shared memory that a copy has yet to fill, or a write to what one has yet to read."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size", "i32 store")
    with m.function("void", "gs_copies_check", *head) as (b, (warp, site, mask, address, size, store)):
        idle = mask == 0
        with b.if_(idle | ~(warp.copies != NULL)):
            b.ret()
        at = b.alloca("i32")
        with team(b, warp.block) as block:
            _check_block(b, block, at, (warp, site, mask, address, size, store))
    _meet(m)


def _check_block(
    b: Builder, block: Record, at: Value, access: tuple[Record, Value, Value, Value, Value, Value]
) -> None:
    """One access against all that the warps of a block have queued."""
    warp, site, mask, address, size, store = access
    b.store(i32(0), at)
    with b.loop() as done:
        number = b.load("i32", at)
        b.break_if(number >= block.warp_count, done)
        b.store(number + 1, at)
        other = warp_at(b, block, number)
        queue = other.copies
        rank = block.rank << 8
        foreign = block != warp.block
        named = other.warp | b.select(foreign, rank + 256, i32(0))
        with entries(b, queue, queue.count) as (_, entry):
            kind = entry.kind
            out = kind == BULK_OUT
            matters = ~out | (store != 0)
            matters &= kind != ARRIVING
            with b.if_(matters & (entry.mask != 0)):
                b.call("void", "gs_copies_meet", warp, site, mask, address, size, named, entry)


def _meet(m: IrModule) -> None:
    """One access against one entry, lane by lane of the entry."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size", "i32 number", "copy* copy")
    with m.function("void", "gs_copies_meet", *head) as (b, (warp, site, mask, address, size, number, entry)):
        out = entry.kind == BULK_OUT
        base, kind = warp.shared, i32(FAULT["unwaited_copy"])
        last = address + b.splat(size)
        with b.lanes(entry.mask) as lane:
            target, source = (b.load("i64", row(b, entry.field(f), lane, 8)) for f in ("target", "source"))
            bytes_ = b.load("i32", row(b, entry.field("bytes"), lane, 4))
            length = b.intrinsic("umax", bytes_, entry.size)
            start = b.resize(b.select(out, source, target) - base, "i32")
            end = start + length
            inside = (address < b.splat(end)) & (last > b.splat(start))
            hit = mask & b.bitcast(inside, "i32")
            with b.if_(hit != 0):
                first = b.call("i32", "llvm.cttz.i32", hit, constant("i1", True))
                who = ((number & 255) << 8) | lane
                # The rank of another block that started the copy, plus 1, stands above the offset.
                rank = b.resize(number >> 8, "i64") << 32
                where = b.resize(b.extract(address, first), "i64") | rank
                b.call("void", "gs_report", warp, kind, site, first, entry.site, who, where)
                b.ret()


# -- the two proxies --------------------------------------------------------------------------------------------------
def _race(b: Builder, warp: Record) -> Record:
    return warp.block.race


def _fence(m: IrModule) -> None:
    """fence.proxy.async: what its warp knows of is seen by asynchronous copies from now on."""
    with m.function("void", "gs_proxy_fence", "warp* warp") as (b, (warp,)):
        race = _race(b, warp)
        with b.if_(race != NULL):
            clocks = b.load(wide("i32"), row_of(b, race, warp.warp), align=4)
            pointer = race.field("fenced")
            b.store(b.intrinsic("umax", clocks, b.load(wide("i32"), pointer, align=4)), pointer, align=4)


def _landed(m: IrModule) -> None:
    """What a bulk copy brought needs no fence before another bulk copy takes it away."""
    with m.function("void", "gs_proxy_landed", "warp* warp") as (b, (warp,)):
        race, own = _race(b, warp), warp.warp
        with b.if_(race != NULL):
            pointer = row(b, race.field("fenced"), own, 4)
            b.store(b.intrinsic("umax", b.load("i32", pointer), clock_of(b, race, own)), pointer)


def _fenced(m: IrModule) -> None:
    """Reports a bulk copy out of shared memory that was written with no proxy fence since."""
    head = ("warp* warp", "i32 site", "i32 lane", "ptr source", "i32 bytes")
    with m.function("void", "gs_proxy_check", *head) as (b, (warp, site, lane, source, bytes_)):
        race = _race(b, warp)
        with b.if_(~(race != NULL)):
            b.ret()
        base = b.define("i64", f"ptrtoint {source!r} to i64")
        start = b.resize(base - warp.shared, "i32")
        shift, at = race.shift, b.alloca("i32")
        b.store(start >> shift, at)
        end = (start + bytes_) >> shift
        with b.loop() as done:
            unit = b.load("i32", at)
            b.break_if(unit >= end, done)
            b.store(unit + 1, at)
            long = b.resize(unit, "i64")
            written_at, writer = (b.load("i32", plane_of(b, race, name, long)) for name in ("written", "writer"))
            fenced = b.load("i32", row(b, race.field("fenced"), warp_of(b, writer), 4))
            with b.if_(written_at > fenced):
                address = long << b.resize(shift, "i64")
                writer_site, writer_thread = writer >> 16, writer & 0x1FFF
                b.call(
                    "void",
                    "gs_report",
                    warp,
                    i32(FAULT["proxy_fence"]),
                    site,
                    lane,
                    writer_site,
                    writer_thread,
                    address,
                )
                b.ret()
