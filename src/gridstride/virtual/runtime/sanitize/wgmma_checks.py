"""What the observed build finds around wgmma: missing fences and waits, registers used too early, warps that are not
there, descriptors that do not fit; what it reads of shared memory is in wgmma_reads.py.
"""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import DONE
from gridstride.virtual.abi.wgmma_flights import (
    BASE,
    FLIGHT,
    FLIGHTS,
    LEADING,
    MAX_FLIGHTS,
    ROW_LEAVES_PATTERN,
    STRIDE,
    WGMMA_GROUPS,
    WGMMA_WARPS,
)
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import i32, i64, warp_numbered
from gridstride.virtual.runtime.copies.matrix_descriptors import CHUNK, ROWS, Descriptor, counted
from gridstride.virtual.runtime.sanitize.clocks import entry, row_of
from gridstride.virtual.runtime.sanitize.shared_races import clock_of
from gridstride.virtual.runtime.sanitize.wgmma_reads import account, emit_reads, entry_of, report


def emit_warpgroup(m: IrModule) -> None:
    """gs_wgmma_*: issue, fence, commit, wait, touch, unfenced, written, filled, end."""
    emit_reads(m)
    _sane(m)
    _issue(m)
    _groups(m)
    _registers(m)
    _end(m)


# -- issue -------------------------------------------------------------------------------------------------------------
def _sane(m: IrModule) -> None:
    """Reports a descriptor whose fields cannot all be meant."""
    head = ("warp* warp", "i32 site", "i64 word", "i32 turned", "i32 groups", "i32 chunks", "i32 matrix")
    with m.function("void", "gs_wgmma_sane", *head) as (b, (warp, site, word, turned, groups, chunks, matrix)):
        d = Descriptor.read(b, word, turned)
        swizzled = d.turn != 0
        rows = b.select(d.transposed, groups, chunks) * CHUNK
        within = d.start & (d.width - 1)
        split = within + b.intrinsic("umin", rows, d.width) > d.width
        phase = (d.start >> 7) & d.turn
        based = (d.base & d.turn) != 0
        least = b.select(swizzled, d.width * ROWS, i32(1))
        many_groups, many_chunks = (n > 1 for n in (groups, chunks))
        again = rows > d.width
        inner = d.transposed & swizzled
        # Along the rows: stride, but of transposed swizzled ones leading; along k the other way about.
        strided = b.select(inner, many_chunks, many_groups)
        led = b.select(d.transposed, b.select(swizzled, again, many_chunks), again)
        wrong = {
            ROW_LEAVES_PATTERN: split,
            BASE: based & (phase == 0),
            STRIDE: strided & (d.stride < least),
            LEADING: led & (d.leading < least),
        }
        for number, problem in wrong.items():
            with b.if_(problem):
                what = (matrix << 8) | number
                start = b.resize(d.start, "i64") << 32
                address = start | b.resize(what | (d.width << 16), "i64")
                report(b, warp, "wgmma_descriptor", site, site, address=address)


def _issue(m: IrModule) -> None:
    """A wgmma; `groups_a` is 0 where A is in registers."""
    head = ("warp* warp", "i32 site", "i32 mask", "i64 a", "i64 b", "i32 turned_a", "i32 turned_b", "i32 groups_a",
            "i32 groups_b", "i32 chunks_b")  # fmt: skip
    with (
        m.function("void", "gs_wgmma_issue", *head) as (b, (warp, site, mask, *arguments)),
        account(b, warp) as flights,
    ):
        number = warp.warp
        count = warp.block.warp_count
        apart = mask != -1
        lonely = (number | 3) >= count
        with b.if_(apart | lonely):
            report(b, warp, "wgmma_warps", site, site, address=b.resize(apart, "i64"))
        with b.if_(flights.fences == 0):
            report(b, warp, "wgmma_fence", site, site)
        flights.issued += 1
        flights.last = site
        _begin(b, warp, flights, site, arguments)


def _begin(b: Builder, warp: Record, flights: Record, site: Value, arguments: list[Value]) -> None:
    word_a, word_b, turned_a, turned_b, groups_a, groups_b, chunks_b = arguments
    with b.if_(flights.count >= MAX_FLIGHTS):
        b.call("void", "gs_wgmma_land", warp, flights, entry_of(b, flights, i32(0)).group)
    index = flights.count
    flight = entry_of(b, flights, index)
    flights.count = index + 1
    fields = {"site": site, "group": flights.closed + 1, "low": i32(-1),
              "high": i32(0)}  # fmt: skip
    for name, value in fields.items():
        b.put(flight, FLIGHT, name, value)
    sides = ((word_a, turned_a, groups_a, i32(2)), (word_b, turned_b, groups_b, chunks_b))
    leads = (warp.warp & 3) == 0
    for matrix, (word, turned, groups, chunks) in enumerate(sides):
        own = b.select(leads, groups, i32(0))
        for name, value in (("word", word), ("turned", turned), ("groups", own), ("chunks", chunks)):
            b.put(flight, FLIGHT, name, value, matrix)
        with b.if_(own != 0):
            b.call("void", "gs_wgmma_sane", warp, site, word, turned, groups, chunks, i32(matrix))
    b.call("void", "gs_wgmma_read", warp, flight, i32(1))


# -- groups -----------------------------------------------------------------------------------------------------------
def _groups(m: IrModule) -> None:
    with m.function("void", "gs_wgmma_fence", "warp* warp") as (b, (warp,)), account(b, warp) as flights:
        flights.fences += 1
    with m.function("void", "gs_wgmma_commit", "warp* warp") as (b, (warp,)), account(b, warp) as flights:
        closed = flights.closed
        flights.closed = closed + 1
        b.store(b.call("i32", "gs_race_tick", warp), _stamp(b, flights, closed))
    _tick(m)
    _wait(m)
    with m.function("void", "gs_wgmma_land", "warp* warp", "flights* flights", "i32 through") as (b, args):
        # Entries are in the order of their groups: what is through stands at the head.
        warp, flights, through = args
        gone, count = b.alloca("i32"), flights.count
        b.store(i32(0), gone)
        with counted(b, count) as index:
            flight = entry_of(b, flights, index)
            with b.if_(b.compare("sle", flight.group, through)):
                b.call("void", "gs_wgmma_read", warp, flight, i32(0))
                b.store(b.load("i32", gone) + 1, gone)
        remaining = count - b.load("i32", gone)
        size = b.resize(remaining, "i64") * FLIGHT.size
        head, tail = entry_of(b, flights, i32(0)), entry_of(b, flights, b.load("i32", gone))
        b.emit(f"call void @llvm.memmove.p0.p0.i64({head!r}, {tail!r}, {size!r}, i1 false)")
        flights.count = remaining


def _stamp(b: Builder, flights: Record, group: Value) -> Value:
    """Where the clock of a group is kept; the first one is 0."""
    return entry(b, flights.field("stamps"), group & (WGMMA_GROUPS - 1))


def _tick(m: IrModule) -> None:
    """gs_race_tick: from now on a warp works under another clock, so that others may learn of what it did up to here
    alone; gives the clock until now, 0 where races are not looked for.
    """
    with m.function("i32", "gs_race_tick", "warp* warp") as (b, (warp,)):
        race, own = warp.block.race, warp.warp
        with b.if_(race != NULL):
            now = clock_of(b, race, own)
            stamp = b.call("i32", "gs_stamps_take", race, i32(1))
            b.store(stamp, entry(b, row_of(b, race, own), own))
            b.store(stamp, entry(b, race.field("current"), own))
            b.call("void", "gs_stamp_enter", race, stamp, own)
            b.ret(now)
        b.terminated = False
        b.ret(i32(0))


def _wait(m: IrModule) -> None:
    """gs_wgmma_wait: groups are through for all four warps as soon as one has waited for them. What they read is booked
    on the first warp, at the clock at which it closed the last of them, and the one that waits knows of it.
    """
    with (
        m.function("void", "gs_wgmma_wait", "warp* warp", "i32 pending") as (b, (warp, pending)),
        account(b, warp) as flights,
    ):
        through = flights.closed - pending
        flights.done = b.intrinsic("smax", through, flights.done)
        block, own = warp.block, warp.warp
        first = own & -WGMMA_WARPS
        lead, race = warp_numbered(b, block, first), block.race
        with b.if_(first != own):
            b.call("void", "gs_wgmma_land", warp, flights, through)  # its own registers
        with b.if_(b.compare("sgt", through, i32(0)) & (race != NULL)):
            theirs, current = lead.wgmma, entry(b, race.field("current"), first)
            now = b.load("i32", current)
            last = b.load("i32", _stamp(b, theirs, through - 1))
            when = b.select(b.compare("sge", theirs.closed, through), last, now)
            b.store(when, current)
            b.call("void", "gs_wgmma_land", lead, theirs, through)
            b.store(now, current)
            clock_slot = entry(b, row_of(b, race, own), first)
            b.store(b.intrinsic("umax", b.load("i32", clock_slot), when), clock_slot)


def _registers(m: IrModule) -> None:
    """gs_wgmma_group, gs_wgmma_fences: what the code notes beside registers; gs_wgmma_touch and gs_wgmma_unfenced: a
    register of a wgmma in a group not waited for is used, a wgmma takes one that was written after the last fence.
    """
    for name, field in (("group", "closed"), ("fences", "fences")):
        with m.function("i32", f"gs_wgmma_{name}", "warp* warp") as (b, (warp,)):
            with account(b, warp) as flights:
                b.ret(b.get(flights, FLIGHTS, field) + 1)
            b.terminated = False
            b.ret(i32(0))
    head = ("warp* warp", "i32 site", "i32 noted", "i32 other")
    with m.function("void", "gs_wgmma_touch", *head) as (b, (warp, site, noted, other)), account(b, warp) as flights:
        late = b.compare("sgt", noted, flights.done)
        with b.if_(late):
            report(b, warp, "wgmma_register", site, other)
    with (
        m.function("void", "gs_wgmma_unfenced", *head) as (b, (warp, site, noted, other)),
        account(b, warp) as flights,
    ):
        now = flights.fences + 1
        with b.if_(noted == now):
            report(b, warp, "wgmma_fence", site, other)


# -- the end ----------------------------------------------------------------------------------------------------------
def _end(m: IrModule) -> None:
    """When a warp is through: groups not waited for, and warps of its group that have executed fewer or more wgmma."""
    with m.function("void", "gs_wgmma_end", "warp* warp") as (b, (warp,)), account(b, warp) as flights:
        last, issued = flights.last, flights.issued
        open_ = flights.count != 0
        with b.if_(open_):
            closed, done = flights.closed, flights.done
            committed = b.compare("sle", entry_of(b, flights, i32(0)).group, closed)
            report(b, warp, "wgmma_wait", last, last, address=b.resize(committed, "i64"), who=done)
            flights.count = 0
        block, number = warp.block, warp.warp
        first = number & -4
        is_full = (number | 3) < block.warp_count
        with b.if_(is_full), counted(b, i32(4)) as i:
            other = warp_numbered(b, block, first + i)
            theirs = other.wgmma
            over = other.state == DONE
            differ = issued > theirs.issued
            fewer = issued < theirs.issued
            with b.if_(over & (differ | fewer)):
                site = b.select(differ, last, theirs.last)
                who = (first + i) << 8
                report(b, warp, "wgmma_warps", site, site, who=who, address=i64(2))
