"""Sixteen units of global memory at a time: what is known of them, whether it came before, and what is now known.

Units that nobody else touched in this launch, the usual case, take a few vector instructions; where another warp or
block did, clocks.py says whether that happened before. An entry is written whole, so that blocks on other
threads of the process may make a race be missed but none be invented.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.finding_records import SINGLE_LANE_WAIT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import (
    CHECKED,
    EPOCH_BIT,
    MOST_EPOCHS,
    NON_COHERENT,
    SEVERAL_BIT,
    SHADOW,
    SHADOW_PLANES,
    STRENGTH_BIT,
    STRONG,
)
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant, suffix, vector_constant
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.global_lane_races import (
    RACES,
    atomic_and_strong,
    emit_lane_races,
    lanes_behind_fences,
    withheld,
)

HALF = LANES // 2
RECORDS, STAMPS, _BITS = f"<{HALF} x i64>", f"<{HALF} x i32>", f"<{HALF} x i1>"
_LANE = LANES - 1
_EPOCHS = MOST_EPOCHS << EPOCH_BIT
_KIND_OF_ACCESS = 0xFFFFFFFF << 32 | _EPOCHS | 3 << STRENGTH_BIT
"""Stamp, epoch and strength of an entry: an access by the same lane that has the same ones is already there."""


def emit_global_units(m: IrModule) -> None:
    """gs_global_run_*: units in a row; gs_global_apart_*: units anywhere; gs_global_one_*: one unit."""
    emit_lane_races(m)
    for kind in ("load", "store"):
        _run(m, kind)
        _apart(m, kind)
        _single_entry(m, kind)
        _blind(m, kind)
    for against in ("load", "writes", "reads"):
        _meet(m, against)


Load = Callable[[str], Value]
Store = Callable[[str, Value, Value | None], None]
"""Entries of a plane; with a mask (i16) only some are written."""


@dataclass(frozen=True, slots=True)
class Planes:
    """The shadow's planes at the units of an access; `noted` writes what is to follow the entries of a store."""

    load: Load
    store: Store
    noted: Callable[[], None] = lambda: None


def _run(m: IrModule, kind: str) -> None:
    head = ("warp* warp", "race* race", "shadow* shadow", "i64 first", f"{RECORDS} entries")
    with m.function("void", f"gs_global_run_{kind}", *head) as (b, (warp, race, shadow, first, entries)):
        offset = first << 3
        planes = {name: b.offset(b.get(shadow, SHADOW, name), offset) for name in SHADOW_PLANES}

        def load(name: str) -> Value:
            return b.load(RECORDS, planes[name], align=8)

        def store(name: str, value: Value, mask: Value | None) -> None:
            if mask is None:
                b.store(value, planes[name], align=8)
                return
            bits = b.bitcast(mask, _BITS)
            b.call("void", f"llvm.masked.store.{suffix(RECORDS)}.p0", value, planes[name], i32(8), bits)

        units = b.splat(first, HALF) + vector_constant("i64", range(HALF))
        everywhere = constant("i16", -1)
        _compare_and_note(b, kind, (warp, race, shadow), units, entries, everywhere, Planes(load, store))


def _apart(m: IrModule, kind: str) -> None:
    head = ("warp* warp", "race* race", "shadow* shadow", f"{RECORDS} units", f"{RECORDS} entries", "i16 mask")
    with m.function("void", f"gs_global_apart_{kind}", *head) as (b, (warp, race, shadow, units, entries, mask)):
        offsets = units << 3

        def pointers(name: str) -> Value:
            text = f"getelementptr i8, ptr {b.get(shadow, SHADOW, name).name}, {offsets!r}"
            return b.define(f"<{HALF} x ptr>", text)

        def load(name: str) -> Value:
            gather, bits = f"llvm.masked.gather.{suffix(RECORDS)}.v{HALF}p0", b.bitcast(mask, _BITS)
            return b.call(RECORDS, gather, pointers(name), i32(8), bits, constant(RECORDS, 0))

        def store(name: str, value: Value, some: Value | None) -> None:
            bits = b.bitcast(mask if some is None else mask & some, _BITS)
            scatter = f"llvm.masked.scatter.{suffix(RECORDS)}.v{HALF}p0"
            b.call("void", scatter, value, pointers(name), i32(8), bits)

        def noted() -> None:
            """Lanes that store to one place at once have noted themselves over one another."""
            if kind == "store":
                last = load("written")
                crowd = mask & b.bitcast(_lanes_apart(b, last, entries), "i16")
                with b.if_(crowd != 0):
                    b.call("i16", "gs_global_lanes_writes", warp, race, shadow, units, entries, last, crowd)

        _compare_and_note(b, kind, (warp, race, shadow), units, entries, mask, Planes(load, store, noted))


def _stamps(b: Builder, records: Value) -> Value:
    return b.resize(records >> 32, "i32")


def _earliest(b: Builder, stamp: Value) -> Value:
    """The least entry with a stamp."""
    return b.resize(stamp, "i64") << 32


def _compared(b: Builder, last: Value) -> Value:
    """The bits in which an access is like the one noted: its lane is one of them where that is the only one noted."""
    several = (last >> SEVERAL_BIT) & 1
    lane = (several - 1) & _LANE
    return lane | _KIND_OF_ACCESS


def _lanes_apart(b: Builder, records: Value, entries: Value) -> Value:
    """i1s: another lane of this warp made the access noted, and nothing has brought the lanes together since."""
    step = records ^ entries
    same = (step & ((0xFFFFFFFF << 32) | _EPOCHS)) == 0
    watched = (entries & _EPOCHS) != 0
    other_lanes = (step & _LANE) | (records & (1 << SEVERAL_BIT))
    return same & watched & (other_lanes != 0) & ~atomic_and_strong(b, records, entries)


def _return_if_noted(b: Builder, last: Value, entries: Value, mask: Value) -> None:
    """Returns where an access like this one, by this warp since it last met others, is noted already: whoever came
    later has looked at it then.
    """
    differs = (last ^ entries) & _compared(b, last)
    new = b.bitcast(differs != 0, "i16") & mask
    with b.if_(new == 0):
        b.ret()


def _compare_and_note(
    b: Builder, kind: str, where: tuple[Record, Record, Record], units: Value, entries: Value, mask: Value,
    planes: Planes,
) -> None:  # fmt: skip
    """Compares an access with what is known of its units, and makes it known."""
    warp, race, shadow = where
    load, store = planes.load, planes.store
    base, silent = b.splat(_earliest(b, shadow.base), HALF), b.alloca("i16")
    b.store(constant("i16", 0), silent)

    def meet(records: Value, *, read: bool) -> None:
        """Looks for races with reads or writes of this launch, but for this warp's own since it last met others."""
        recent = b.bitcast(records >= base, "i16") & mask
        if kind == "load" or read:
            recent = _coherent(b, kind, where, units, (entries, records), recent)
        idle, slow = b.new_label("idle"), b.new_label("slow")
        b.branch(recent == 0, idle, slow, likely=True)
        b.start(slow)
        differ = _stamps(b, records) != _stamps(b, entries)
        # Two that are strong everywhere never race, and counters have many of them.
        common = records & entries & (STRONG << 5)
        weak, unchecked = common == 0, constant(_BITS, -1)
        if kind == "load" or read:
            checked = (records if kind == "load" else entries) & (CHECKED << 5)
            unchecked = checked != (CHECKED << 5)
            weak &= unchecked
        suspects = recent & b.bitcast(differ & weak, "i16")
        apart = recent & b.bitcast(_lanes_apart(b, records, entries) & unchecked, "i16")
        against = "load" if kind == "load" else "reads" if read else "writes"
        for name, some in ((f"meet_{against}", suspects), (f"lanes_{against}", apart)):
            with b.if_(some != 0):
                more = b.call("i16", f"gs_global_{name}", warp, race, shadow, units, entries, records, some)
                b.store(b.load("i16", silent) | more, silent)
        b.jump(idle)
        b.start(idle)

    last = load("read" if kind == "load" else "written")
    _return_if_noted(b, last, entries, mask)
    if kind == "load":
        meet(load("written"), read=False)
        _remember_read(b, race, base, last, entries, mask, store)
        return
    meet(last, read=False)
    for plane in ("read", "read_before"):
        meet(load(plane), read=True)
    quiet, stronger = b.load("i16", silent), _stronger(b, last, entries)
    with b.if_(quiet == 0, likely=True):
        store("written", stronger, None)
        planes.noted()
        b.ret()
    store("written", stronger, ~quiet)


def _stronger(b: Builder, last: Value, entries: Value) -> Value:
    """The entries, but for atomics of a warp behind its own plain write since it last met others: that one stays, for
    whoever knows of the one knows of the other, and it races with more.
    """
    step = last ^ entries
    unwatched = (entries & _EPOCHS) == 0
    since = ((step & (0xFFFFFFFF << 32)) == 0) & (unwatched | ((step & _EPOCHS) == 0))
    plain, atomic = ((strength & (3 << STRENGTH_BIT)) for strength in (last, entries))
    hides = since & (plain == 0) & (atomic != 0)
    return b.select(hides, last, entries)


def _coherent(
    b: Builder, kind: str, where: tuple[Record, Record, Record], units: Value, sides: tuple[Value, Value], recent: Value
) -> Value:
    """Reports what one access writes and another reads through the read-only path in this launch, in whatever order;
    gives the rest, for which order counts.
    """
    reads = sides[0] if kind == "load" else sides[1]
    strength = reads & (3 << STRENGTH_BIT)
    past = strength == (NON_COHERENT << STRENGTH_BIT)
    blind = recent & b.bitcast(past, "i16")
    with b.if_(blind != 0):
        b.call("void", f"gs_global_blind_{kind}", *where, units, *sides, blind)
    return recent ^ blind


def _blind(m: IrModule, kind: str) -> None:
    """Reports them, one lane after the other. Which value is stored does not matter: PTX allows no write at all."""
    head = ("warp* warp", "race* race", "shadow* shadow", f"{RECORDS} units", f"{RECORDS} entries",
            f"{RECORDS} records", "i16 blind")  # fmt: skip
    with m.function("void", f"gs_global_blind_{kind}", *head, cold=True) as (b, args):
        warp, _, shadow, units, entries, records, blind = args
        with b.lanes(b.resize(blind, "i32")) as index:
            unit, mine, theirs = (b.extract(v, index) for v in (units, entries, records))
            arguments = (
                i32(FAULT["non_coherent_read"]),
                mine,
                theirs,
                _address(b, shadow, unit),
                i32(int(kind == "store")),
            )
            b.call("void", "gs_global_report", warp, *arguments)


def _remember_read(
    b: Builder, race: Record, base: Value, last: Value, entries: Value, mask: Value, store: Store
) -> None:
    """The last read; the one before it, where an earlier block did that, so that a block's own do not hide it."""
    first = b.splat(_earliest(b, race.first), HALF)
    earlier = (last >= base) & (last < first)
    moved = b.bitcast(earlier, "i16") & mask
    with b.if_(moved != 0):
        store("read_before", last, moved)
    again = _lanes_apart(b, last, entries)
    shared = last | (1 << SEVERAL_BIT)
    store("read", b.select(again, shared, entries), None)


def _single_entry(m: IrModule, kind: str) -> None:
    """The same for one unit; where somebody else was, it goes the long way."""
    head = ("warp* warp", "race* race", "shadow* shadow", "i64 unit", "i64 mine")
    with m.function("void", f"gs_global_one_{kind}", *head) as (b, (warp, race, shadow, unit, entry_)):
        offset, base = unit << 3, _earliest(b, shadow.base)
        where = {name: b.offset(b.get(shadow, SHADOW, name), offset) for name in SHADOW_PLANES}
        last = b.load("i64", where["read" if kind == "load" else "written"])
        differs = (last ^ entry_) & _compared(b, last)
        with b.if_(differs == 0):
            b.ret()
        recent = b.load("i64", where["written"])
        if kind == "store":
            for name in ("read", "read_before"):
                recent = b.intrinsic("umax", recent, b.load("i64", where[name]))
        with b.if_(recent >= base):
            units, entries = b.splat(unit, HALF), b.splat(entry_, HALF)
            b.call("void", f"gs_global_apart_{kind}", warp, race, shadow, units, entries, constant("i16", 1))
            b.ret()
        if kind == "load":
            first = _earliest(b, race.first)
            with b.if_((last >= base) & (last < first)):
                b.store(last, where["read_before"])
        b.store(entry_, where["read" if kind == "load" else "written"])


# -- where somebody else was ------------------------------------------------------------------------------------------
def _meet(m: IrModule, against: str) -> None:
    """Of a load, or of a store against earlier writes or reads: reports what did not happen before; gives the lanes
    that store what is there already, which is no write.
    """
    writes = int(against != "load")
    head = ("warp* warp", "race* race", "shadow* shadow", f"{RECORDS} units", f"{RECORDS} entries",
            f"{RECORDS} records", "i16 suspects")  # fmt: skip
    with m.function("i16", f"gs_global_meet_{against}", *head) as (b, args):
        warp, race, shadow, units, entries, records, suspects = args
        own, remaining, silent = warp.warp, b.alloca("i32"), b.alloca("i32")
        stamps, read = _stamps(b, records), constant("i1", against == "reads")
        b.store(b.resize(suspects, "i32"), remaining)
        b.store(i32(0), silent)
        with b.loop() as done:
            now = b.load("i32", remaining)
            b.break_if(now == 0, done)
            lane = b.call("i32", "llvm.cttz.i32", now, constant("i1", True))
            alike = stamps == b.splat(b.extract(stamps, lane), HALF)
            group = b.resize(b.bitcast(alike, "i16"), "i32") & now
            b.store(now ^ group, remaining)
            stamp = b.extract(stamps, lane)
            apart = group & lanes_behind_fences(b, warp, race, shadow, stamp, (entries, records))
            with b.if_(apart != 0):
                where = warp, race, shadow, units, entries, records, b.resize(apart, "i16")
                same = b.call("i16", f"gs_global_lanes_{against}", *where)
                b.store(b.load("i32", silent) | b.resize(same, "i32"), silent)
            needed = b.call("i32", "gs_stamp_order", race, own, b.extract(records, lane), read)
            vectors = units, entries, records
            with b.if_(needed != 0), b.lanes(group) as index:
                _conflict(b, writes, (warp, race, shadow), needed, index, vectors, silent)
            if against != "reads":
                alone = b.select(needed == 0, group & withheld(b, race, shadow, own, stamp, records), i32(0))
                with b.if_(alone != 0), b.lanes(alone) as index:
                    _conflict(b, writes | SINGLE_LANE_WAIT, (warp, race, shadow), i32(STRONG), index, vectors, silent)
        b.ret(b.resize(b.load("i32", silent), "i16"))


def _strength(b: Builder, record: Value) -> Value:
    return b.resize(record >> 5, "i32") & 3


def _conflict(
    b: Builder, writes: int, where: tuple[Record, Record, Record], needed: Value, index: Value,
    vectors: tuple[Value, Value, Value], silent: Value,
) -> None:  # fmt: skip
    warp, race, shadow = where
    unit, mine, theirs = (b.extract(v, index) for v in vectors)
    weakest = b.intrinsic("umin", _strength(b, mine), _strength(b, theirs))
    with b.if_(weakest < needed):
        address, lane = _address(b, shadow, unit), b.resize(mine, "i32") & (LANES - 1)
        loud, done = b.new_label("loud"), b.new_label("told")
        if writes & 1:
            same = b.call("i1", "gs_race_silent", race, lane, address, b.pointer(address), shadow.shift)
            b.store(b.load("i32", silent) | (b.resize(same, "i32") << index), silent)
            b.branch(same, done, loud)
        else:
            b.jump(loud)
        b.start(loud)
        b.call("void", "gs_global_report", warp, RACES, mine, theirs, address, i32(writes))
        b.jump(done)
        b.start(done)


def _address(b: Builder, shadow: Record, unit: Value) -> Value:
    """Where a unit begins in memory."""
    offset = unit << b.resize(shadow.shift, "i64")
    return shadow.start + offset
