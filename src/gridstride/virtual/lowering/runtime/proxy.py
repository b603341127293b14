"""What the observed build finds around asynchronous copies: accesses before a wait, missing proxy fences."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, wide
from gridstride.virtual.lowering.runtime.clusters import team
from gridstride.virtual.lowering.runtime.common import i32, i64, warp_at
from gridstride.virtual.lowering.runtime.output import row
from gridstride.virtual.lowering.runtime.queue import entries, present
from gridstride.virtual.lowering.runtime.races import clock_of, plane_of, warp_of
from gridstride.virtual.lowering.runtime.stamps import row_of
from gridstride.virtual.machine.layout import ARRIVING, BLOCK, BULK_OUT, COPIES, COPY, FAULT, RACE, WARP


def emit_proxy(m: Module) -> None:
    """gs_copies_check, gs_proxy_fence, gs_proxy_landed, gs_proxy_check."""
    _check(m)
    _fence(m)
    _landed(m)
    _fenced(m)


# -- accesses to what is still being copied ---------------------------------------------------------------------------
def _check(m: Module) -> None:
    """Reports an access to shared memory that a copy has yet to fill, or a write to what one has yet to read."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size", "i32 store")
    with m.function("void", "gs_copies_check", *head) as (b, (warp, site, mask, address, size, store)):
        idle = b.compare("eq", mask, i32(0))
        with b.if_(b.op("or", idle, b.op("xor", present(b, b.get(warp, WARP, "copies")), constant("i1", True)))):
            b.ret()
        at = b.alloca("i32")
        with team(b, b.get(warp, WARP, "block")) as block:
            _check_block(b, block, at, (warp, site, mask, address, size, store))
    _meet(m)


def _check_block(b: Builder, block: Value, at: Value, access: tuple[Value, ...]) -> None:
    """One access against all that the warps of a block have queued."""
    warp, site, mask, address, size, store = access
    b.store(i32(0), at)
    with b.loop() as done:
        number = b.load("i32", at)
        b.break_if(b.compare("uge", number, b.get(block, BLOCK, "warp_count")), done)
        b.store(b.op("add", number, i32(1)), at)
        other = warp_at(b, block, number)
        queue = b.get(other, WARP, "copies")
        rank = b.op("shl", b.get(block, BLOCK, "rank"), i32(8))
        foreign = b.compare("ne", block, b.get(warp, WARP, "block"))
        named = b.op("or", b.get(other, WARP, "warp"), b.select(foreign, b.op("add", rank, i32(256)), i32(0)))
        with entries(b, queue, b.get(queue, COPIES, "count")) as (_, entry):
            kind = b.get(entry, COPY, "kind")
            out = b.compare("eq", kind, i32(BULK_OUT))
            matters = b.op("or", b.op("xor", out, constant("i1", True)), b.compare("ne", store, i32(0)))
            matters = b.op("and", matters, b.compare("ne", kind, i32(ARRIVING)))
            with b.if_(b.op("and", matters, b.compare("ne", b.get(entry, COPY, "mask"), i32(0)))):
                b.call("void", "gs_copies_meet", warp, site, mask, address, size, named, entry)


def _meet(m: Module) -> None:
    """One access against one entry, lane by lane of the entry."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size", "i32 number", "ptr copy")
    with m.function("void", "gs_copies_meet", *head) as (b, (warp, site, mask, address, size, number, entry)):
        out = b.compare("eq", b.get(entry, COPY, "kind"), i32(BULK_OUT))
        base, kind = b.get(warp, WARP, "shared"), i32(FAULT["unwaited_copy"])
        last = b.op("add", address, b.splat(size))
        with b.lanes(b.get(entry, COPY, "mask")) as lane:
            target, source = (b.load("i64", row(b, b.field(entry, COPY, f), lane, 8)) for f in ("target", "source"))
            bytes_ = b.load("i32", row(b, b.field(entry, COPY, "bytes"), lane, 4))
            length = b.intrinsic("umax", bytes_, b.get(entry, COPY, "size"))
            start = b.resize(b.op("sub", b.select(out, source, target), base), "i32")
            end = b.op("add", start, length)
            inside = b.op("and", b.compare("ult", address, b.splat(end)), b.compare("ugt", last, b.splat(start)))
            hit = b.op("and", mask, b.bitcast(inside, "i32"))
            with b.if_(b.compare("ne", hit, i32(0))):
                first = b.call("i32", "llvm.cttz.i32", hit, constant("i1", True))
                who = b.op("or", b.op("shl", b.op("and", number, i32(255)), i32(8)), lane)
                # The rank of another block that started the copy, plus 1, stands above the offset.
                rank = b.op("shl", b.resize(b.op("lshr", number, i32(8)), "i64"), i64(32))
                where = b.op("or", b.resize(b.extract(address, first), "i64"), rank)
                b.call("void", "gs_report", warp, kind, site, first, b.get(entry, COPY, "site"), who, where)
                b.ret()


# -- the two proxies --------------------------------------------------------------------------------------------------
def _race(b: Builder, warp: Value) -> Value:
    return b.get(b.get(warp, WARP, "block"), BLOCK, "race")


def _fence(m: Module) -> None:
    """fence.proxy.async: what its warp knows of is seen by asynchronous copies from now on."""
    with m.function("void", "gs_proxy_fence", "ptr warp") as (b, (warp,)):
        race = _race(b, warp)
        with b.if_(present(b, race)):
            known = b.load(wide("i32"), row_of(b, race, b.get(warp, WARP, "warp")), align=4)
            place = b.field(race, RACE, "fenced")
            b.store(b.intrinsic("umax", known, b.load(wide("i32"), place, align=4)), place, align=4)


def _landed(m: Module) -> None:
    """What a bulk copy brought needs no fence before another bulk copy takes it away."""
    with m.function("void", "gs_proxy_landed", "ptr warp") as (b, (warp,)):
        race, own = _race(b, warp), b.get(warp, WARP, "warp")
        with b.if_(present(b, race)):
            place = row(b, b.field(race, RACE, "fenced"), own, 4)
            b.store(b.intrinsic("umax", b.load("i32", place), clock_of(b, race, own)), place)


def _fenced(m: Module) -> None:
    """Reports a bulk copy out of shared memory that was written with no proxy fence since."""
    head = ("ptr warp", "i32 site", "i32 lane", "ptr source", "i32 bytes")
    with m.function("void", "gs_proxy_check", *head) as (b, (warp, site, lane, source, bytes_)):
        race = _race(b, warp)
        with b.if_(b.op("xor", present(b, race), constant("i1", True))):
            b.ret()
        base = b.define("i64", f"ptrtoint {source!r} to i64")
        start = b.resize(b.op("sub", base, b.get(warp, WARP, "shared")), "i32")
        shift, at = b.get(race, RACE, "shift"), b.alloca("i32")
        b.store(b.op("lshr", start, shift), at)
        end = b.op("lshr", b.op("add", start, bytes_), shift)
        with b.loop() as done:
            unit = b.load("i32", at)
            b.break_if(b.compare("uge", unit, end), done)
            b.store(b.op("add", unit, i32(1)), at)
            long = b.resize(unit, "i64")
            then, writer = (b.load("i32", plane_of(b, race, name, long)) for name in ("written", "writer"))
            fenced = b.load("i32", row(b, b.field(race, RACE, "fenced"), warp_of(b, writer), 4))
            with b.if_(b.compare("ugt", then, fenced)):
                address = b.op("shl", long, b.resize(shift, "i64"))
                there, them = b.op("lshr", writer, i32(16)), b.op("and", writer, i32(0x1FFF))
                b.call("void", "gs_report", warp, i32(FAULT["proxy_fence"]), site, lane, there, them, address)
                b.ret()
