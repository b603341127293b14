"""What the observed build finds around wgmma: operands in shared memory that change while they are read, missing
fences and waits, warps that are not there, descriptors that do not fit.

A warpgroup counts as one reader: what it reads is booked on its first warp, because one warp may well speak for all
four to the producer that fills its buffers. It reads when it is issued and up to the wait for its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64, warp_at
from gridstride.virtual.lowering.runtime.descriptors import CHUNK, ROWS, Descriptor, counted
from gridstride.virtual.lowering.runtime.queue import present
from gridstride.virtual.machine.layout import (
    BLOCK,
    DONE,
    FAULT,
    FLIGHT,
    FLIGHTS,
    LANES,
    MAX_FLIGHTS,
    WARP,
)

MOST_CHUNKS = 1024
"""Chunks of the largest operand: 256 columns of 64 bytes."""

SPLIT, BASE, STRIDE, LEADING = 1, 2, 3, 4
"""What may be wrong with a descriptor: a row that leaves its pattern, a base offset, a stride or leading offset."""


def emit_warpgroup(m: Module) -> None:
    """gs_wgmma_*: issue, fence, commit, wait, touch, unfenced, written, filled, end."""
    _places(m)
    _read(m)
    _sane(m)
    _issue(m)
    _groups(m)
    _registers(m)
    _written(m)
    _end(m)


@contextmanager
def _account(b: Builder, warp: Value) -> Iterator[Value]:
    """Runs its body with the warp's account, where it has one and its block is observed."""
    flights = b.get(warp, WARP, "wgmma")
    observed = b.compare("ne", b.get(warp, WARP, "observed"), i32(0))
    with b.if_(b.op("and", present(b, flights), observed)):
        yield flights


def _entry(b: Builder, flights: Value, index: Value) -> Value:
    return b.offset(b.offset(flights, FLIGHTS.size), b.op("mul", b.resize(index, "i64"), i64(FLIGHT.size)))


def _report(b: Builder, warp: Value, kind: str, site: Value, other: Value, *, who: Value | None = None,
            address: Value | None = None) -> None:  # fmt: skip
    me = b.op("shl", b.get(warp, WARP, "warp"), i32(8))
    b.call("void", "gs_report", warp, i32(FAULT[kind]), site, i32(0), other, who or me, address or i64(0))


# -- what a flight reads ----------------------------------------------------------------------------------------------
def _places(m: Module) -> None:
    """Writes where each chunk of an operand lies, as i32 and up to a multiple of 32 of them; gives their number."""
    head = ("i64 word", "i32 turned", "i32 groups", "i32 chunks", "ptr out")
    with m.function("i32", "gs_wgmma_places", *head) as (b, (word, turned, groups, chunks, out)):
        d, at = Descriptor.read(b, word, turned), b.alloca("i32")
        b.store(i32(0), at)
        with counted(b, groups) as group, counted(b, chunks) as chunk:
            piece = d.piece(b, group, chunk)
            for r in range(ROWS):
                place = b.offset(out, b.op("mul", b.resize(b.load("i32", at), "i64"), i64(4)))
                b.store(d.chunk(b, piece, r), b.offset(place, 4 * r))
            b.store(b.op("add", b.load("i32", at), i32(ROWS)), at)
        b.ret(b.load("i32", at))


@contextmanager
def _vectors(b: Builder, entry: Value, matrix: int, room: Value) -> Iterator[tuple[Value, Value]]:
    """Runs its body for each 32 chunks of a flight's operand: (offsets in shared memory, mask of those that count)."""
    word, turned, groups, chunks = (b.get(entry, FLIGHT, f, matrix) for f in ("word", "turned", "groups", "chunks"))
    count = b.call("i32", "gs_wgmma_places", word, turned, groups, chunks, room)
    steps = b.op("lshr", b.op("add", count, i32(LANES - 1)), i32(5))
    with counted(b, steps) as step:
        first = b.op("mul", step, i32(LANES))
        places = b.load(wide("i32"), b.offset(room, b.op("mul", b.resize(first, "i64"), i64(4))), align=4)
        lanes = vector_constant("i32", range(LANES))
        some = b.compare("ult", lanes, b.splat(b.op("sub", count, first)))
        yield places, b.bitcast(some, "i32")


def _room(b: Builder) -> Value:
    return b.alloca(f"[{4 * MOST_CHUNKS} x i8]", align=64)


def _read(m: Module) -> None:
    """Books a flight's reads at this moment; `issued` 1: also looks for missing proxy fences, and notes its extent."""
    with m.function("void", "gs_wgmma_read", "ptr warp", "ptr flight", "i32 issued") as (b, (warp, entry, issued)):
        site, room, shared = b.get(entry, FLIGHT, "site"), _room(b), b.pointer(b.get(warp, WARP, "shared"))
        first = b.compare("ne", issued, i32(0))
        for matrix in range(2):
            with _vectors(b, entry, matrix, room) as (places, mask):
                b.call("void", "gs_race_load", warp, site, mask, places, i32(CHUNK))
                with b.if_(first):
                    some = b.bitcast(mask, wide("i1"))
                    ends = (("low", "umin", -1), ("high", "umax", 0))
                    for name, join, none in ends:
                        kept = b.select(some, places, constant(places.type, none))
                        own = b.call("i32", f"llvm.vector.reduce.{join}.v{LANES}i32", kept)
                        b.put(entry, FLIGHT, name, b.intrinsic(join, own, b.get(entry, FLIGHT, name)))
                    with b.lanes(mask) as lane:
                        place = b.offset(shared, b.resize(b.extract(places, lane), "i64"))
                        b.call("void", "gs_proxy_check", warp, site, i32(0), place, i32(CHUNK))


# -- issue ------------------------------------------------------------------------------------------------------------
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
            SPLIT: split,
            BASE: b.op("and", based, b.compare("eq", phase, i32(0))),
            STRIDE: b.op("and", strided, b.compare("ult", d.stride, least)),
            LEADING: b.op("and", led, b.compare("ult", d.leading, least)),
        }
        for number, problem in wrong.items():
            with b.if_(problem):
                what = b.op("or", b.op("shl", matrix, i32(8)), i32(number))
                place = b.op("shl", b.resize(d.start, "i64"), i64(32))
                address = b.op("or", place, b.resize(b.op("or", what, b.op("shl", d.width, i32(16))), "i64"))
                _report(b, warp, "wgmma_descriptor", site, site, address=address)


def _issue(m: Module) -> None:
    """A wgmma; `groups_a` is 0 where A is in registers."""
    head = ("ptr warp", "i32 site", "i32 mask", "i64 a", "i64 b", "i32 turned_a", "i32 turned_b", "i32 groups_a",
            "i32 groups_b", "i32 chunks_b")  # fmt: skip
    with m.function("void", "gs_wgmma_issue", *head) as (b, (warp, site, mask, *given)), _account(b, warp) as flights:
        number = b.get(warp, WARP, "warp")
        count = b.get(b.get(warp, WARP, "block"), BLOCK, "warp_count")
        apart = b.compare("ne", mask, i32(-1))
        lonely = b.compare("uge", b.op("or", number, i32(3)), count)
        with b.if_(b.op("or", apart, lonely)):
            _report(b, warp, "wgmma_warps", site, site, address=b.resize(apart, "i64"))
        with b.if_(b.compare("eq", b.get(flights, FLIGHTS, "fences"), i32(0))):
            _report(b, warp, "wgmma_fence", site, site)
        b.put(flights, FLIGHTS, "issued", b.op("add", b.get(flights, FLIGHTS, "issued"), i32(1)))
        b.put(flights, FLIGHTS, "last", site)
        _begin(b, warp, flights, site, given)


def _begin(b: Builder, warp: Value, flights: Value, site: Value, given: list[Value]) -> None:
    word_a, word_b, turned_a, turned_b, groups_a, groups_b, chunks_b = given
    with b.if_(b.compare("uge", b.get(flights, FLIGHTS, "count"), i32(MAX_FLIGHTS))):
        b.call("void", "gs_wgmma_land", warp, flights, b.get(_entry(b, flights, i32(0)), FLIGHT, "group"))
    index = b.get(flights, FLIGHTS, "count")
    entry = _entry(b, flights, index)
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
        with m.function("void", f"gs_wgmma_{name}", "ptr warp") as (b, (warp,)), _account(b, warp) as flights:
            b.put(flights, FLIGHTS, field, b.op("add", b.get(flights, FLIGHTS, field), i32(1)))
    with (
        m.function("void", "gs_wgmma_wait", "ptr warp", "i32 pending") as (b, (warp, pending)),
        _account(b, warp) as flights,
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
            entry = _entry(b, flights, index)
            with b.if_(b.compare("sle", b.get(entry, FLIGHT, "group"), through)):
                b.call("void", "gs_wgmma_read", warp, entry, i32(0))
                b.store(b.op("add", b.load("i32", gone), i32(1)), gone)
        left = b.op("sub", count, b.load("i32", gone))
        size = b.op("mul", b.resize(left, "i64"), i64(FLIGHT.size))
        head, rest = _entry(b, flights, i32(0)), _entry(b, flights, b.load("i32", gone))
        b.emit(f"call void @llvm.memmove.p0.p0.i64({head!r}, {rest!r}, {size!r}, i1 false)")
        b.put(flights, FLIGHTS, "count", left)


def _registers(m: Module) -> None:
    """gs_wgmma_group, gs_wgmma_fences: what the code notes beside registers; gs_wgmma_touch and gs_wgmma_unfenced: a
    register of a wgmma in a group not waited for is used, a wgmma takes one that was written after the last fence.
    """
    for name, field in (("group", "closed"), ("fences", "fences")):
        with m.function("i32", f"gs_wgmma_{name}", "ptr warp") as (b, (warp,)):
            with _account(b, warp) as flights:
                b.ret(b.op("add", b.get(flights, FLIGHTS, field), i32(1)))
            b.terminated = False
            b.ret(i32(0))
    head = ("ptr warp", "i32 site", "i32 noted", "i32 other")
    with m.function("void", "gs_wgmma_touch", *head) as (b, (warp, site, noted, other)), _account(b, warp) as flights:
        late = b.compare("sgt", noted, b.get(flights, FLIGHTS, "done"))
        with b.if_(late):
            _report(b, warp, "wgmma_register", site, other)
    with (
        m.function("void", "gs_wgmma_unfenced", *head) as (b, (warp, site, noted, other)),
        _account(b, warp) as flights,
    ):
        now = b.op("add", b.get(flights, FLIGHTS, "fences"), i32(1))
        with b.if_(b.compare("eq", noted, now)):
            _report(b, warp, "wgmma_fence", site, other)


# -- writes to what is being read -------------------------------------------------------------------------------------
def _written(m: Module) -> None:
    """gs_wgmma_written: a store, or a copy that begins, to shared memory; gs_wgmma_filled: one of many bytes."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", "gs_wgmma_written", *head) as (b, (warp, site, mask, address, size)):
        watched = b.op("and", present(b, b.get(warp, WARP, "wgmma")), b.compare("ne", mask, i32(0)))
        with b.if_(watched):
            some = b.bitcast(mask, wide("i1"))
            kept = [b.select(some, address, constant(address.type, none)) for none in (-1, 0)]
            low, high = (b.call("i32", f"llvm.vector.reduce.{join}.v{LANES}i32", x)
                         for join, x in zip(("umin", "umax"), kept, strict=True))  # fmt: skip
            with _flights(b, warp, low, b.op("add", high, size)) as (other, entry), b.lanes(mask) as lane:
                start = b.extract(address, lane)
                b.call("void", "gs_wgmma_meet", warp, site, lane, start, b.op("add", start, size), other, entry)
    head = ("ptr warp", "i32 site", "i32 lane", "ptr place", "i32 bytes")
    with m.function("void", "gs_wgmma_filled", *head) as (b, (warp, site, lane, place, bytes_)):
        watched = present(b, b.get(warp, WARP, "wgmma"))
        with b.if_(watched):
            word = b.define("i64", f"ptrtoint {place!r} to i64")
            low = b.resize(b.op("sub", word, b.get(warp, WARP, "shared")), "i32")
            high = b.op("add", low, bytes_)
            with _flights(b, warp, low, high) as (other, entry):
                b.call("void", "gs_wgmma_meet", warp, site, lane, low, high, other, entry)
    _meet(m)


@contextmanager
def _flights(b: Builder, warp: Value, low: Value, high: Value) -> Iterator[tuple[Value, Value]]:
    """Runs its body for each flight of the block whose extent meets low … high: (its warp's number, its entry)."""
    block = b.get(warp, WARP, "block")
    with counted(b, b.get(block, BLOCK, "warp_count")) as number:
        flights = b.get(warp_at(b, block, number), WARP, "wgmma")
        with counted(b, b.get(flights, FLIGHTS, "count")) as index:
            entry = _entry(b, flights, index)
            end = b.op("add", b.get(entry, FLIGHT, "high"), i32(CHUNK))
            below = b.compare("ult", b.get(entry, FLIGHT, "low"), high)
            with b.if_(b.op("and", below, b.compare("ult", low, end))):
                yield number, entry


def _meet(m: Module) -> None:
    """Reports a write of `low` to `high` that meets a chunk that a flight reads."""
    head = ("ptr warp", "i32 site", "i32 lane", "i32 low", "i32 high", "i32 number", "ptr flight")
    with m.function("void", "gs_wgmma_meet", *head) as (b, (warp, site, lane, low, high, number, entry)):
        room = _room(b)
        for matrix in range(2):
            with _vectors(b, entry, matrix, room) as (places, mask):
                after = b.compare("ult", places, b.splat(high))
                before = b.compare("ugt", b.op("add", places, constant(places.type, CHUNK)), b.splat(low))
                hit = b.op("and", mask, b.bitcast(b.op("and", after, before), "i32"))
                with b.if_(b.compare("ne", hit, i32(0))):
                    kind, who = i32(FAULT["wgmma_operand"]), b.op("shl", number, i32(8))
                    other = b.get(entry, FLIGHT, "site")
                    b.call("void", "gs_report", warp, kind, site, lane, other, who, b.resize(low, "i64"))
                    b.ret()


# -- the end ----------------------------------------------------------------------------------------------------------
def _end(m: Module) -> None:
    """When a warp is through: groups not waited for, and warps of its group that have executed fewer or more wgmma."""
    with m.function("void", "gs_wgmma_end", "ptr warp") as (b, (warp,)), _account(b, warp) as flights:
        last, issued = b.get(flights, FLIGHTS, "last"), b.get(flights, FLIGHTS, "issued")
        open_ = b.compare("ne", b.get(flights, FLIGHTS, "count"), i32(0))
        with b.if_(open_):
            closed, done = b.get(flights, FLIGHTS, "closed"), b.get(flights, FLIGHTS, "done")
            committed = b.compare("sle", b.get(_entry(b, flights, i32(0)), FLIGHT, "group"), closed)
            _report(b, warp, "wgmma_wait", last, last, address=b.resize(committed, "i64"), who=done)
            b.put(flights, FLIGHTS, "count", 0)
        block, number = b.get(warp, WARP, "block"), b.get(warp, WARP, "warp")
        first = b.op("and", number, i32(-4))
        whole = b.compare("ult", b.op("or", number, i32(3)), b.get(block, BLOCK, "warp_count"))
        with b.if_(whole), counted(b, i32(4)) as i:
            other = warp_at(b, block, b.op("add", first, i))
            theirs = b.get(other, WARP, "wgmma")
            over = b.compare("eq", b.get(other, WARP, "state"), i32(DONE))
            differ = b.compare("ugt", issued, b.get(theirs, FLIGHTS, "issued"))
            fewer = b.compare("ult", issued, b.get(theirs, FLIGHTS, "issued"))
            with b.if_(b.op("and", over, b.op("or", differ, fewer))):
                site = b.select(differ, last, b.get(theirs, FLIGHTS, "last"))
                who = b.op("shl", b.op("add", first, i), i32(8))
                _report(b, warp, "wgmma_warps", site, site, who=who, address=i64(2))
