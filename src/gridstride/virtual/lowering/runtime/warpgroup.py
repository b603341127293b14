"""What the observed build finds around wgmma: missing fences and waits, registers used too early, warps that are not
there, descriptors that do not fit; what it reads of shared memory is in warpgroup_reads.py.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value
from gridstride.virtual.lowering.runtime.common import i32, i64, warp_numbered
from gridstride.virtual.lowering.runtime.descriptors import CHUNK, ROWS, Descriptor, counted
from gridstride.virtual.lowering.runtime.warpgroup_reads import account, emit_reads, entry_of, report
from gridstride.virtual.machine.layout import (
    BASE,
    BLOCK,
    DONE,
    FLIGHT,
    FLIGHTS,
    LEADING,
    LEAVING,
    MAX_FLIGHTS,
    STRIDE,
    WARP,
)


def emit_warpgroup(m: Module) -> None:
    """gs_wgmma_*: issue, fence, commit, wait, touch, unfenced, written, filled, end."""
    emit_reads(m)
    _sane(m)
    _issue(m)
    _groups(m)
    _registers(m)
    _end(m)


# -- issue -------------------------------------------------------------------------------------------------------------
def _sane(m: Module) -> None:
    """Reports a descriptor whose fields cannot all be meant."""
    head = ("ptr warp", "i32 site", "i64 word", "i32 turned", "i32 groups", "i32 chunks", "i32 matrix")
    with m.function("void", "gs_wgmma_sane", *head) as (b, (warp, site, word, turned, groups, chunks, matrix)):
        d = Descriptor.read(b, word, turned)
        swizzled = b.compare("ne", d.turn, i32(0))
        rows = b.op("mul", b.select(d.transposed, groups, chunks), i32(CHUNK))
        within = b.op("and", d.start, b.op("sub", d.width, i32(1)))
        split = b.compare("ugt", b.op("add", within, b.intrinsic("umin", rows, d.width)), d.width)
        phase = b.op("and", b.op("lshr", d.start, i32(7)), d.turn)
        based = b.compare("ne", b.op("and", d.base, d.turn), i32(0))
        least = b.select(swizzled, b.op("mul", d.width, i32(ROWS)), i32(1))
        many_groups, many_chunks = (b.compare("ugt", n, i32(1)) for n in (groups, chunks))
        again = b.compare("ugt", rows, d.width)
        inner = b.op("and", d.transposed, swizzled)
        # Along the rows: stride, but of transposed swizzled ones leading; along k the other way about.
        strided = b.select(inner, many_chunks, many_groups)
        led = b.select(d.transposed, b.select(swizzled, again, many_chunks), again)
        wrong = {
            LEAVING: split,
            BASE: b.op("and", based, b.compare("eq", phase, i32(0))),
            STRIDE: b.op("and", strided, b.compare("ult", d.stride, least)),
            LEADING: b.op("and", led, b.compare("ult", d.leading, least)),
        }
        for number, problem in wrong.items():
            with b.if_(problem):
                what = b.op("or", b.op("shl", matrix, i32(8)), i32(number))
                place = b.op("shl", b.resize(d.start, "i64"), i64(32))
                address = b.op("or", place, b.resize(b.op("or", what, b.op("shl", d.width, i32(16))), "i64"))
                report(b, warp, "wgmma_descriptor", site, site, address=address)


def _issue(m: Module) -> None:
    """A wgmma; `groups_a` is 0 where A is in registers."""
    head = ("ptr warp", "i32 site", "i32 mask", "i64 a", "i64 b", "i32 turned_a", "i32 turned_b", "i32 groups_a",
            "i32 groups_b", "i32 chunks_b")  # fmt: skip
    with m.function("void", "gs_wgmma_issue", *head) as (b, (warp, site, mask, *given)), account(b, warp) as flights:
        number = b.get(warp, WARP, "warp")
        count = b.get(b.get(warp, WARP, "block"), BLOCK, "warp_count")
        apart = b.compare("ne", mask, i32(-1))
        lonely = b.compare("uge", b.op("or", number, i32(3)), count)
        with b.if_(b.op("or", apart, lonely)):
            report(b, warp, "wgmma_warps", site, site, address=b.resize(apart, "i64"))
        with b.if_(b.compare("eq", b.get(flights, FLIGHTS, "fences"), i32(0))):
            report(b, warp, "wgmma_fence", site, site)
        b.put(flights, FLIGHTS, "issued", b.op("add", b.get(flights, FLIGHTS, "issued"), i32(1)))
        b.put(flights, FLIGHTS, "last", site)
        _begin(b, warp, flights, site, given)


def _begin(b: Builder, warp: Value, flights: Value, site: Value, given: list[Value]) -> None:
    word_a, word_b, turned_a, turned_b, groups_a, groups_b, chunks_b = given
    with b.if_(b.compare("uge", b.get(flights, FLIGHTS, "count"), i32(MAX_FLIGHTS))):
        b.call("void", "gs_wgmma_land", warp, flights, b.get(entry_of(b, flights, i32(0)), FLIGHT, "group"))
    index = b.get(flights, FLIGHTS, "count")
    entry = entry_of(b, flights, index)
    b.put(flights, FLIGHTS, "count", b.op("add", index, i32(1)))
    fields = {"site": site, "group": b.op("add", b.get(flights, FLIGHTS, "closed"), i32(1)), "low": i32(-1),
              "high": i32(0)}  # fmt: skip
    for name, value in fields.items():
        b.put(entry, FLIGHT, name, value)
    sides = ((word_a, turned_a, groups_a, i32(2)), (word_b, turned_b, groups_b, chunks_b))
    leads = b.compare("eq", b.op("and", b.get(warp, WARP, "warp"), i32(3)), i32(0))
    for matrix, (word, turned, groups, chunks) in enumerate(sides):
        own = b.select(leads, groups, i32(0))
        for name, value in (("word", word), ("turned", turned), ("groups", own), ("chunks", chunks)):
            b.put(entry, FLIGHT, name, value, matrix)
        with b.if_(b.compare("ne", own, i32(0))):
            b.call("void", "gs_wgmma_sane", warp, site, word, turned, groups, chunks, i32(matrix))
    b.call("void", "gs_wgmma_read", warp, entry, i32(1))


# -- groups -----------------------------------------------------------------------------------------------------------
def _groups(m: Module) -> None:
    for name, field in (("fence", "fences"), ("commit", "closed")):
        with m.function("void", f"gs_wgmma_{name}", "ptr warp") as (b, (warp,)), account(b, warp) as flights:
            b.put(flights, FLIGHTS, field, b.op("add", b.get(flights, FLIGHTS, field), i32(1)))
    with (
        m.function("void", "gs_wgmma_wait", "ptr warp", "i32 pending") as (b, (warp, pending)),
        account(b, warp) as flights,
    ):
        through = b.op("sub", b.get(flights, FLIGHTS, "closed"), pending)
        b.put(flights, FLIGHTS, "done", b.intrinsic("smax", through, b.get(flights, FLIGHTS, "done")))
        b.call("void", "gs_wgmma_land", warp, flights, through)
    with m.function("void", "gs_wgmma_land", "ptr warp", "ptr flights", "i32 through") as (b, args):
        # Entries are in the order of their groups: what is through stands at the head.
        warp, flights, through = args
        gone, count = b.alloca("i32"), b.get(flights, FLIGHTS, "count")
        b.store(i32(0), gone)
        with counted(b, count) as index:
            entry = entry_of(b, flights, index)
            with b.if_(b.compare("sle", b.get(entry, FLIGHT, "group"), through)):
                b.call("void", "gs_wgmma_read", warp, entry, i32(0))
                b.store(b.op("add", b.load("i32", gone), i32(1)), gone)
        left = b.op("sub", count, b.load("i32", gone))
        size = b.op("mul", b.resize(left, "i64"), i64(FLIGHT.size))
        head, rest = entry_of(b, flights, i32(0)), entry_of(b, flights, b.load("i32", gone))
        b.emit(f"call void @llvm.memmove.p0.p0.i64({head!r}, {rest!r}, {size!r}, i1 false)")
        b.put(flights, FLIGHTS, "count", left)


def _registers(m: Module) -> None:
    """gs_wgmma_group, gs_wgmma_fences: what the code notes beside registers; gs_wgmma_touch and gs_wgmma_unfenced: a
    register of a wgmma in a group not waited for is used, a wgmma takes one that was written after the last fence.
    """
    for name, field in (("group", "closed"), ("fences", "fences")):
        with m.function("i32", f"gs_wgmma_{name}", "ptr warp") as (b, (warp,)):
            with account(b, warp) as flights:
                b.ret(b.op("add", b.get(flights, FLIGHTS, field), i32(1)))
            b.terminated = False
            b.ret(i32(0))
    head = ("ptr warp", "i32 site", "i32 noted", "i32 other")
    with m.function("void", "gs_wgmma_touch", *head) as (b, (warp, site, noted, other)), account(b, warp) as flights:
        late = b.compare("sgt", noted, b.get(flights, FLIGHTS, "done"))
        with b.if_(late):
            report(b, warp, "wgmma_register", site, other)
    with (
        m.function("void", "gs_wgmma_unfenced", *head) as (b, (warp, site, noted, other)),
        account(b, warp) as flights,
    ):
        now = b.op("add", b.get(flights, FLIGHTS, "fences"), i32(1))
        with b.if_(b.compare("eq", noted, now)):
            report(b, warp, "wgmma_fence", site, other)


# -- the end ----------------------------------------------------------------------------------------------------------
def _end(m: Module) -> None:
    """When a warp is through: groups not waited for, and warps of its group that have executed fewer or more wgmma."""
    with m.function("void", "gs_wgmma_end", "ptr warp") as (b, (warp,)), account(b, warp) as flights:
        last, issued = b.get(flights, FLIGHTS, "last"), b.get(flights, FLIGHTS, "issued")
        open_ = b.compare("ne", b.get(flights, FLIGHTS, "count"), i32(0))
        with b.if_(open_):
            closed, done = b.get(flights, FLIGHTS, "closed"), b.get(flights, FLIGHTS, "done")
            committed = b.compare("sle", b.get(entry_of(b, flights, i32(0)), FLIGHT, "group"), closed)
            report(b, warp, "wgmma_wait", last, last, address=b.resize(committed, "i64"), who=done)
            b.put(flights, FLIGHTS, "count", 0)
        block, number = b.get(warp, WARP, "block"), b.get(warp, WARP, "warp")
        first = b.op("and", number, i32(-4))
        whole = b.compare("ult", b.op("or", number, i32(3)), b.get(block, BLOCK, "warp_count"))
        with b.if_(whole), counted(b, i32(4)) as i:
            other = warp_numbered(b, block, b.op("add", first, i))
            theirs = b.get(other, WARP, "wgmma")
            over = b.compare("eq", b.get(other, WARP, "state"), i32(DONE))
            differ = b.compare("ugt", issued, b.get(theirs, FLIGHTS, "issued"))
            fewer = b.compare("ult", issued, b.get(theirs, FLIGHTS, "issued"))
            with b.if_(b.op("and", over, b.op("or", differ, fewer))):
                site = b.select(differ, last, b.get(theirs, FLIGHTS, "last"))
                who = b.op("shl", b.op("add", first, i), i32(8))
                report(b, warp, "wgmma_warps", site, site, who=who, address=i64(2))
