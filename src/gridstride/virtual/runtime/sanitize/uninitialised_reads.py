"""Reads of memory that nothing has written, in the observed build.

Global memory and the device heap have a shadow with a byte for each word (1: unset), local memory one with a byte for
each byte. In shared memory the race detector's planes know when a unit was last written: before the block began means
never. An access is a finding where all that it touches is unset: of wide copies a part may be padding, or past the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.execution_records import LAUNCH
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.memory_records import SITE, UNSET_SHIFT
from gridstride.virtual.abi.value_origins import GLOBAL, MEANINGLESS, NO_SECOND_SITE, REGISTER, SHARED, SHUFFLED, STORED
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.sanitize.shared_races import before_block, plane_of
from gridstride.virtual.runtime.schedule.cluster_blocks import block_at, cluster_of

_WORD = 1 << UNSET_SHIFT


def emit_unset(m: IrModule) -> None:
    """gs_unset_load and gs_unset_store for 64-bit addresses, _shared_load and _shared_store, _local, _range, _fresh."""
    _reports(m)
    _elsewhere(m)
    _load(m)
    _store(m)
    _shared(m)
    _local(m)
    _range(m)


def _reports(m: IrModule) -> None:
    """Reports once for each place in the code; of lanes' reads, `space` is where the addresses are."""
    head = ("warp* warp", "i32 site", "i32 lanes", "i32 space", f"{wide('i64')} address")
    with m.function("void", "gs_report_uninitialised", *head, cold=True) as (b, (warp, site, lanes, space, address)):
        with b.if_(lanes == 0):
            b.ret()
        _once(b, warp, site)
        lane = _first(b, lanes)
        place = b.extract(address, lane)
        other = b.call("i32", "gs_unset_origin", warp, space, place) | NO_SECOND_SITE
        kind = i32(FAULT["uninitialised_read"])
        b.call("void", "gs_report", warp, kind, site, lane, other, i32(0), place)
    with m.function("i32", "gs_unset_origin", "warp* warp", "i32 space", "i64 address", cold=True) as (b, args):
        warp, space, address = args
        race = warp.block.race
        with b.if_((space == SHARED) & (race != NULL)):
            unit = b.resize(address, "i32") >> race.shift
            with b.if_(unit < race.words):
                written = b.load("i32", plane_of(b, race, "written", b.resize(unit, "i64")))
                b.ret(b.select(written == MEANINGLESS, i32(STORED), space))
        b.terminated = False
        b.ret(space)
    _tainted(m)
    mask_head = ("warp* warp", "i32 site", "i32 wrong", "i32 absent", f"{wide('i32')} members")
    with m.function("void", "gs_report_members", *mask_head, cold=True) as (b, (warp, site, wrong, absent, members)):
        _once(b, warp, site)
        lane = _first(b, wrong)
        mask = b.extract(members, lane)
        missing = mask & absent
        both = (b.resize(missing, "i64") << 32) | b.resize(mask, "i64")
        b.call("void", "gs_report", warp, i32(FAULT["member_mask"]), site, lane, site, i32(0), both)


def _tainted(m: IrModule) -> None:
    """A value that means nothing is used at `site`; it came to `lane` at `origin`, from `space` (see taint)."""
    head = ("warp* warp", "i32 site", "i32 lanes", "i32 branch", "i32 origin", "i32 lane", "i32 space", "i64 address")
    with m.function("void", "gs_report_meaningless", *head, cold=True) as (b, args):
        warp, site, lanes, branch, origin, lane, space, address = args
        shuffled = space == SHUFFLED
        with b.if_(shuffled & (branch != 0)):
            b.ret()
        never = space == REGISTER
        at = b.select(never, site, origin)
        _once(b, warp, at)
        lane = b.select(never | shuffled, _first(b, lanes), lane)
        kind = b.select(shuffled, i32(FAULT["inactive_lane"]), i32(FAULT["uninitialised_read"]))
        # In `who` a warp's number has room above the lane: that is where the space goes, for there is no other thread.
        from_ = b.call("i32", "gs_unset_origin", warp, space, address)
        who = b.select(shuffled, b.resize(address, "i32"), from_ << 8)
        b.call("void", "gs_report", warp, kind, at, lane, site, who, address)


def _once(b: Builder, warp: Record, site: Value) -> None:
    entry = warp.sites[b.resize(site, "i64")]
    reported = b.offset(entry, SITE.offset["spare"])
    with b.if_(b.load("i64", reported) != 0):
        b.ret()
    b.store(i64(1), reported)


def _first(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))


def _some(b: Builder, mask: Value) -> Value:
    return mask != 0


# -- global memory ----------------------------------------------------------------------------------------------------
def _places(b: Builder, warp: Record, mask: Value, address: Value) -> tuple[Value, Value, Value]:
    """(lanes in the arena, their shadow bytes' addresses, distances from lane 0)."""
    launch = warp.launch
    low, span = (b.splat(b.get(launch, LAUNCH, f"unset_{n}")) for n in ("low", "span"))
    distance = address - low
    inside = mask & b.bitcast(distance < span, "i32")
    shadow = b.splat(warp.unset) + (distance >> UNSET_SHIFT)
    return inside, shadow, address - b.splat(b.extract(address, 0))


def _in_a_row(b: Builder, inside: Value, distance: Value, size: Value) -> Value:
    """An i1: all 32 lanes, one element behind the other."""
    steps = vector_constant("i64", range(LANES)) * b.splat(b.resize(size, "i64"))
    row = b.bitcast(distance == steps, "i32")
    return (row & inside) == -1


def _any(b: Builder, start: Value, size: Value) -> Value:
    """The shadow of 32 elements in a row, combined: 0 where all is set."""
    total, at = b.alloca("i64"), b.alloca("i32")
    b.store(i64(0), total)
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(j >= size, done)
        word = b.load("i64", b.offset(start, b.resize(j, "i64") * 8), align=1)
        b.store(b.load("i64", total) | word, total)
        b.store(j + 1, at)
    return b.load("i64", total)


def _shadows(b: Builder, shadow: Value, mask: Value) -> Value:
    pointers = b.define(wide("ptr"), f"inttoptr {shadow!r} to {wide('ptr')}")
    name, zero = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0", constant(wide("i32"), 0)
    return b.call(wide("i32"), name, pointers, i32(1), b.bitcast(mask, wide("i1")), zero)


_HEAD = ("warp* warp", "i32 mask", f"{wide('i64')} address", "i32 size")


def _load(m: IrModule) -> None:
    """The lanes that read nothing but unset words."""
    with m.function("i32", "gs_unset_load", *_HEAD) as (b, (warp, mask, address, size)):
        inside, shadow, distance = _places(b, warp, mask, address)
        with b.if_(_in_a_row(b, inside, distance, size), likely=True):
            found = _any(b, b.pointer(b.extract(shadow, 0)), size)
            with b.if_(found == 0, likely=True):
                b.ret(i32(0))
        held = _shadows(b, shadow, inside) & b.splat(_bytes_of(b, size))
        suspect = inside & b.bitcast(held != 0, "i32")
        bad = b.alloca("i32")
        b.store(i32(0), bad)
        with b.lanes(suspect) as lane:
            whole = b.call("i1", "gs_unset_all", b.pointer(b.extract(shadow, lane)), _words(b, size))
            _add(b, bad, lane, whole)
        rest = mask ^ inside
        with b.if_(_some(b, rest)):
            there = b.call("i32", "gs_unset_elsewhere", warp, rest, address, size, i32(0))
            b.store(b.load("i32", bad) | there, bad)
        b.ret(b.load("i32", bad))
    with m.function("i1", "gs_unset_all", "ptr place", "i32 words") as (b, (place, words)):
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(j >= words, done)
            b.store(j + 1, at)
            with b.if_(b.load("i8", b.offset(place, b.resize(j, "i64"))) == 0):
                b.ret(constant("i1", False))
        b.ret(constant("i1", True))


def _add(b: Builder, mask: Value, lane: Value, condition: Value) -> None:
    """Adds a lane to a mask in memory where a condition holds."""
    b.store(b.load("i32", mask) | (b.resize(condition, "i32") << lane), mask)


def _bytes_of(b: Builder, size: Value) -> Value:
    """The bits that a lane's shadow has in four bytes of it."""
    wide_ = b.select(size > 8, i32(-1), i32(0xFFFF))
    return b.select(size > _WORD, wide_, i32(0xFF))


def _words(b: Builder, size: Value) -> Value:
    return (size + (_WORD - 1)) >> UNSET_SHIFT


def _store(m: IrModule) -> None:
    """Marks as set; what is set already is not written to, so that its shadow takes no room."""
    with m.function("void", "gs_unset_store", *_HEAD) as (b, (warp, mask, address, size)):
        inside, shadow, distance = _places(b, warp, mask, address)
        with b.if_(_in_a_row(b, inside, distance, size) & (size >= _WORD)):
            start = b.pointer(b.extract(shadow, 0))
            with b.if_(_any(b, start, size) != 0):
                length = b.resize(size, "i64") * 8
                b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 0, {length!r}, i1 false)")
            b.ret()
        held = _shadows(b, shadow, inside)
        work = inside & b.bitcast(held != 0, "i32")
        words = b.resize(_words(b, size), "i64")
        with b.lanes(work) as lane:
            place = b.pointer(b.extract(shadow, lane))
            b.emit(f"call void @llvm.memset.p0.i64(ptr {place.name}, i8 0, {words!r}, i1 false)")
        rest = mask ^ inside
        with b.if_(_some(b, rest)):
            b.call("i32", "gs_unset_elsewhere", warp, rest, address, size, i32(1))


# -- generic addresses that are not in the arena ----------------------------------------------------------------------
def _elsewhere(m: IrModule) -> None:
    """The device heap, and the windows of shared and local memory; anything else counts as set."""
    with m.function("i32", "gs_unset_elsewhere", *_HEAD, "i32 store") as (b, (warp, mask, address, size, store)):
        writes, bad = store != 0, b.alloca("i32")
        b.store(i32(0), bad)
        shared, extent = warp.shared, warp.shared_size
        offset = address - b.splat(shared)
        inside = mask & b.bitcast(offset < b.splat(extent), "i32")
        short = b.resize(offset, "i32")
        _either(b, writes, inside, bad, "gs_unset_shared", (warp, inside, short, size))
        rest = mask ^ inside
        heap = warp.launch.heap
        from_heap = address - b.splat(heap.start)
        here = rest & b.bitcast(from_heap < b.splat(heap.size), "i32")
        with b.lanes(here) as lane:
            at = b.extract(from_heap, lane)
            place = b.offset(heap.unset, at >> UNSET_SHIFT)
            _add(b, bad, lane, b.call("i1", "gs_unset_bytes", place, size, store))
        rest ^= here
        reach = warp.worker.local_stride
        from_local = address - b.splat(warp.local)
        own = rest & b.bitcast(from_local < b.splat(reach), "i32")
        own = b.select(warp.local_unset != 0, own, i32(0))
        _either(b, writes, own, bad, "gs_unset_local_at", (warp, own, from_local, size))
        b.ret(b.load("i32", bad))
    # One lane's words in a shadow: gives whether all are unset, or marks them as set.
    with m.function("i1", "gs_unset_bytes", "ptr place", "i32 size", "i32 store") as (b, (place, size, store)):
        words = _words(b, size)
        with b.if_(store != 0):
            long = b.resize(words, "i64")
            b.emit(f"call void @llvm.memset.p0.i64(ptr {place.name}, i8 0, {long!r}, i1 false)")
            b.ret(constant("i1", False))
        b.ret(b.call("i1", "gs_unset_all", place, words))


def _either(b: Builder, writes: Value, lanes: Value, bad: Value, name: str, args: tuple[Value, ...]) -> None:
    """Calls NAME_store, or adds what NAME_load gives to the mask `bad`."""
    some = _some(b, lanes)
    with b.if_(some & writes):
        b.call("void", f"{name}_store", *args)
    with b.if_(some & ~writes):
        b.store(b.load("i32", bad) | b.call("i32", f"{name}_load", *args), bad)


def _range(m: IrModule) -> None:
    """Any number of bytes of global memory or the heap that a bulk copy reads, or writes."""
    head = ("warp* warp", "i32 site", "i32 lane", "ptr start", "i32 size", "i32 store")
    with m.function("void", "gs_unset_range", *head) as (b, (warp, site, lane, start, size, store)):
        unset, launch = warp.unset, warp.launch
        with b.if_((unset == 0) | (size == 0)):
            b.ret()
        address, bad = b.define("i64", f"ptrtoint {start!r} to i64"), b.alloca("i1")
        b.store(constant("i1", False), bad)
        whole = size + b.resize(address & (_WORD - 1), "i32")
        heap, none = launch.heap, constant("i1", False)
        shadow_of_heap = b.define("i64", f"ptrtoint ptr {heap.unset.name} to i64")
        for low, span, shadow in (
            (launch.unset_low, launch.unset_span, unset),
            (heap.start, heap.size, shadow_of_heap),
        ):
            distance = address - low
            with b.if_(distance < span):
                place = b.pointer(shadow + (distance >> UNSET_SHIFT))
                b.store(b.call("i1", "gs_unset_bytes", place, whole, store), bad)
        with b.if_(b.load("i1", bad) != none):
            lanes = 1 << lane
            b.call("void", "gs_report_uninitialised", warp, site, lanes, i32(GLOBAL), b.splat(address))


# -- shared memory ----------------------------------------------------------------------------------------------------
def _shared(m: IrModule) -> None:
    """By the race detector's planes, which only observed blocks have."""
    head = ("warp* warp", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("i32", "gs_unset_shared_load", *head, cold=True) as (b, (warp, mask, address, size)):
        race, bad = _race(b, warp, i32(0)), b.alloca("i32")
        race.unset = 0
        b.store(i32(0), bad)
        with b.lanes(mask) as lane:
            _add(b, bad, lane, b.call("i1", "gs_unset_units", race, b.extract(address, lane), size))
        b.ret(b.load("i32", bad))
    with m.function("i1", "gs_unset_units", "race* race", "i32 start", "i32 size") as (b, (race, start, size)):
        begin, words = before_block(b, race), race.words
        with _units(b, race, start, size) as unit:
            written = b.load("i32", plane_of(b, race, "written", unit))
            with b.if_(written >= begin):
                b.ret(constant("i1", False))
        # Another block's shared memory, which lies past the end of this one's, is not looked at.
        b.ret((start >> race.shift) < words)
    with m.function("void", "gs_unset_shared_store", *head) as (b, (warp, mask, address, size)):
        race = _race(b, warp)
        begin = before_block(b, race)
        with b.lanes(mask) as lane, _units(b, race, b.extract(address, lane), size) as unit:
            # Known to all warps: it sets the unit, and no access can race with it.
            place = plane_of(b, race, "written", unit)
            b.store(b.intrinsic("umax", b.load("i32", place), begin), place)
    with m.function("void", "gs_unset_shared_again", *head, cold=True) as (b, (warp, mask, address, size)):
        race = _race(b, warp)
        with b.lanes(mask) as lane, _units(b, race, b.extract(address, lane), size) as unit:
            b.store(i32(MEANINGLESS), plane_of(b, race, "written", unit))
    _team(m)
    # A bulk copy out of shared memory, of which nothing was written.
    placed = ("warp* warp", "i32 site", *head[1:])
    with m.function("void", "gs_unset_copied", *placed, cold=True) as (b, (warp, site, mask, address, size)):
        race = _race(b, warp)
        with b.if_(race.unset != 0):
            bad = b.call("i32", "gs_unset_shared_load", warp, mask, address, size)
            b.call("void", "gs_report_uninitialised", warp, site, bad, i32(SHARED), b.resize(address, "i64"))


def _team(m: IrModule) -> None:
    """Units of a cluster's shared memory, as its race detector counts them, that some block has written."""
    head = ("warp* warp", "cluster_race* team", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", "gs_unset_team", *head) as (b, (warp, team, mask, unit)):
        each, cluster = team.units_per_block, cluster_of(b, warp)
        with b.lanes(mask) as lane:
            one = b.extract(unit, lane)
            race = block_at(b, cluster, one // each).race
            with b.if_(race != NULL):
                place = plane_of(b, race, "written", b.resize(one % each, "i64"))
                b.store(b.intrinsic("umax", b.load("i32", place), before_block(b, race)), place)


def _race(b: Builder, warp: Record, without: Value | None = None) -> Record:
    """The block's shadow; where it has none the function returns (`without`)."""
    race = warp.block.race
    with b.if_(race == NULL):
        b.ret(without)
    return race


@contextmanager
def _units(b: Builder, race: Record, start: Value, size: Value) -> Iterator[Value]:
    """Runs its body for each unit of shared memory that `size` bytes at `start` touch, those past the end left out."""
    shift, at = race.shift, b.alloca("i32")
    last = (start + (size - 1)) >> shift
    last = b.intrinsic("umin", last, race.words - 1)
    b.store(start >> shift, at)
    with b.loop() as done:
        unit = b.load("i32", at)
        b.break_if(unit > last, done)
        b.store(unit + 1, at)
        yield b.resize(unit, "i64")


# -- local memory -----------------------------------------------------------------------------------------------------
def _local(m: IrModule) -> None:
    """`gs_unset_local_load` and so on: offsets in each lane's own memory; with `at`, from the start of the warp's."""
    head = ("warp* warp", "i32 mask", f"{wide('i64')} offset", "i32 size")
    for way, result in (("load", "i32"), ("store", "void"), ("again", "void")):
        with m.function(result, f"gs_unset_local_{way}", *head) as (b, (warp, mask, offset, size)):
            stride = b.resize(warp.launch.local_size, "i64")
            lane = vector_constant("i64", range(LANES)) * b.splat(stride)
            inside = mask & b.bitcast(offset < b.splat(stride), "i32")
            given = b.call(result, f"gs_unset_local_at_{way}", warp, inside, offset + lane, size)
            b.ret(given if result != "void" else None)
        with m.function(result, f"gs_unset_local_at_{way}", *head) as (b, (warp, mask, offset, size)):
            start, length, bad = b.pointer(warp.local_unset), b.resize(size, "i64"), b.alloca("i32")
            b.store(i32(0), bad)
            with b.lanes(mask) as lane:
                place = b.offset(start, b.extract(offset, lane))
                if way == "load":
                    _add(b, bad, lane, b.call("i1", "gs_unset_all", place, size))
                else:
                    mark = int(way == "again")
                    b.emit(f"call void @llvm.memset.p0.i64(ptr {place.name}, i8 {mark}, {length!r}, i1 false)")
            b.ret(b.load("i32", bad) if way == "load" else None)
