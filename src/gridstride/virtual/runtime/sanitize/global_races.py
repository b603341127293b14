"""The race detector for global memory: every unit remembers its last write, its last read and one from another block.

An access is looked at by half-warps: lanes side by side, lanes at one place, or each lane's units where they are. What
is done with the units is in global_units.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import (
    ATOMIC_BIT,
    EPOCH_BIT,
    GENERIC_WRITE,
    LANED,
    MOST_EPOCHS,
    OF_ATOMIC,
    SEVERAL_BIT,
    SITE_BIT,
    STRENGTH_BIT,
)
from gridstride.virtual.ir.builder import (
    NULL,
    Builder,
    IrModule,
    Record,
    Value,
    constant,
    suffix,
    vector_constant,
    wide,
)
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.sanitize.clocks import entry, event_of
from gridstride.virtual.runtime.sanitize.global_units import HALF, RECORDS, emit_global_units


def emit_global_races(m: IrModule) -> None:
    """gs_global_load and gs_global_store for accesses, gs_global_range_* for asynchronous copies."""
    _unfenced(m)
    for kind in ("load", "store"):
        _access(m, kind)
        _range(m, kind)
    emit_global_units(m)


# -- from accesses to units -------------------------------------------------------------------------------------------
def _access(m: IrModule, kind: str) -> None:
    """Looks at `size` bytes for each active lane, at addresses in global memory or anywhere else."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i64')} address", "i32 size", "i32 strength")
    with m.function("void", f"gs_global_{kind}", *head) as (b, (warp, site, mask, address, size, strength)):
        race, shadow, shift, me = _opening(b, warp, site, strength)
        count, bytes_ = size >> shift, b.resize(size, "i64")
        start, units = shadow.start, shadow.units
        twice = constant("i1", False)
        if kind == "load":  # halves that read the same, as two rows of a 16-wide tile do, read it once
            low, high = (b.shuffle(address, [HALF * h + i for i in range(HALF)]) for h in range(2))
            twice = (mask == -1) & _same(b, low, high)
            me |= b.select(twice, i64(1 << SEVERAL_BIT), i64(0))
        else:
            race.storing = mask
            race.storing_bytes = size
            with b.if_(((strength & (LANED - 1 | LANED | OF_ATOMIC)) == LANED) & (warp.lane_epoch != 0)):
                b.call("void", "gs_lanes_wrote", warp, race, mask)
        for half in range(2):
            if half and kind == "load":
                with b.if_(twice):
                    b.ret()
            part = b.resize(mask >> (HALF * half), "i16")
            some, over = b.new_label("some"), b.new_label("over")
            b.branch(part != 0, some, over)
            b.start(some)
            own = b.shuffle(address, [HALF * half + i for i in range(HALF)])
            first = b.extract(own, 0)
            distance = own - b.splat(first, HALF)
            is_full = part == -1
            offsets = vector_constant("i64", range(HALF)) * b.splat(bytes_, HALF)
            run = is_full & _same(b, distance, offsets)
            at = (first - start) >> b.resize(shift, "i64")
            end = at + b.resize(count * HALF, "i64")
            inside = (end <= units) & (first >= start)
            context = _Context(kind, warp, race, shadow)
            contiguous, apart = b.new_label("run"), b.new_label("apart")
            b.branch(run & inside, contiguous, apart)
            b.start(contiguous)
            _rows_of_units(b, context, at, count, me, half)
            b.jump(over)
            b.start(apart)
            alike, several = b.new_label("alike"), b.new_label("several")
            b.branch(inside & (is_full & _same(b, distance, constant(RECORDS, 0))), alike, several)
            b.start(alike)
            lane = HALF * half
            crowd = i64(1 << SEVERAL_BIT)
            if kind == "store":
                b.call("void", "gs_global_crowd", warp, race, me, first, i32(lane))
                crowd = b.select((strength & OF_ATOMIC) != 0, crowd, i64(0))
            _single_range(b, context, at, count, me | crowd | lane)
            b.jump(over)
            b.start(several)
            _columns_of_units(b, context, own, part, count, me, half)
            b.jump(over)
            b.start(over)


def _opening(b: Builder, warp: Record, site: Value, strength: Value) -> tuple[Record, Record, Value, Value]:
    """The block's record, the shadow, its shift and what an entry of this access says; returns where there is none."""
    race = warp.block.race
    with b.if_(race == NULL):
        b.ret()
    shadow = race.shadow
    with b.if_(shadow.written == NULL):
        b.ret()
    own = warp.warp
    stamp = b.load("i32", entry(b, race.field("current"), own))
    laned = (strength & LANED) != 0
    epoch = b.select(laned, warp.lane_epoch, i32(0))
    low = (site << SITE_BIT) | (epoch << EPOCH_BIT)
    low |= (strength & (LANED - 1)) << STRENGTH_BIT
    low |= b.select((strength & OF_ATOMIC) != 0, i32(1 << ATOMIC_BIT), i32(0))
    # Where lanes are not told apart, any of them stands for all.
    low |= b.select(epoch == 0, i32(1 << SEVERAL_BIT), i32(0))
    me = (b.resize(stamp, "i64") << 32) | b.resize(low, "i64")
    return race, shadow, shadow.shift, me


def _same(b: Builder, distance: Value, entry: Value) -> Value:
    equal = distance == entry
    return b.bitcast(equal, f"i{HALF}") == -1


@dataclass(frozen=True, slots=True)
class _Context:
    """An access by its kind and its warp, and what is known of earlier ones: the block's record, the shadow."""

    kind: str
    warp: Record
    race: Record
    shadow: Record


def _rows_of_units(b: Builder, context: _Context, first: Value, count: Value, me: Value, half: int) -> None:
    """Units in a row, `count` of them a lane's."""
    where = context.warp, context.race, context.shadow
    at, fold = b.alloca("i32"), b.call("i32", "llvm.cttz.i32", count, constant("i1", True))
    total = count * HALF
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(j >= total, done)
        b.store(j + HALF, at)
        number = vector_constant("i32", range(HALF)) + b.splat(j, HALF)
        lanes = (number >> b.splat(fold, HALF)) + HALF * half
        entries = b.splat(me, HALF) | b.resize(lanes, "i64")
        b.call("void", f"gs_global_run_{context.kind}", *where, first + b.resize(j, "i64"), entries)


def _single_range(b: Builder, context: _Context, first: Value, count: Value, entry_: Value) -> None:
    """The units of lanes that all name the same."""
    where = context.warp, context.race, context.shadow
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(j >= count, done)
        b.store(j + 1, at)
        b.call("void", f"gs_global_one_{context.kind}", *where, first + b.resize(j, "i64"), entry_)


def _columns_of_units(
    b: Builder, context: _Context, address: Value, mask: Value, count: Value, me: Value, half: int
) -> None:  # fmt: skip
    """Each active lane's units, wherever they are; lanes outside of global memory have none."""
    shadow = context.shadow
    shift = b.splat(b.resize(shadow.shift, "i64"), HALF)
    unit = (address - b.splat(shadow.start, HALF)) >> shift
    inside = unit < b.splat(shadow.units, HALF)
    mask &= b.bitcast(inside, "i16")
    entries = b.splat(me, HALF) | vector_constant("i64", [HALF * half + i for i in range(HALF)])
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(j >= count, done)
        b.store(j + 1, at)
        units = unit + b.splat(b.resize(j, "i64"), HALF)
        b.call("void", f"gs_global_apart_{context.kind}", context.warp, context.race, shadow, units, entries, mask)


def _range(m: IrModule, kind: str) -> None:
    """Bytes that a copy of one lane moves; units that it touches in part are left out. `source`: the bytes of a store,
    null where they are not in one piece.
    """
    head = ("warp* warp", "i32 site", "i32 lane", "i64 address", "i64 bytes", "i32 strength", "ptr source")
    with m.function("void", f"gs_global_range_{kind}", *head) as (b, args):
        warp, site, lane, address, bytes_, strength, source = args
        race, shadow, shift, me = _opening(b, warp, site, strength)
        if kind == "store":
            me &= ~GENERIC_WRITE
        _show_source(b, race, lane, address, bytes_, source)
        long, start = b.resize(shift, "i64"), shadow.start
        with b.if_(address < start):
            b.ret()
        offset, round_up = address - start, (1 << long) - 1
        first = (offset + round_up) >> long
        end = b.intrinsic("umin", (offset + bytes_) >> long, shadow.units)
        entries, at = b.splat(me | b.resize(lane, "i64"), HALF), b.alloca("i64")
        b.store(first, at)
        with b.loop() as done:
            unit = b.load("i64", at)
            b.break_if(unit >= end, done)
            b.store(unit + HALF, at)
            units = b.splat(unit, HALF) + vector_constant("i64", range(HALF))
            mask = b.bitcast(units < b.splat(end, HALF), "i16")
            if kind == "load":
                b.call("void", "gs_global_unfenced", warp, race, shadow, units, entries, mask)
            b.call("void", f"gs_global_apart_{kind}", warp, race, shadow, units, entries, mask)
        race.values = NULL


def _unfenced(m: IrModule) -> None:
    """Reports a bulk copy out of global memory where its own block has written with no proxy fence since."""
    head = ("warp* warp", "race* race", "shadow* shadow", f"{RECORDS} units", f"{RECORDS} entries", "i16 mask")
    with m.function("void", "gs_global_unfenced", *head) as (b, (warp, race, shadow, units, entries, mask)):
        pointers = b.define(f"<{HALF} x ptr>", f"getelementptr i64, ptr {shadow.written.name}, {units!r}")
        gather, bits = f"llvm.masked.gather.{suffix(RECORDS)}.v{HALF}p0", b.bitcast(mask, f"<{HALF} x i1>")
        records = b.call(RECORDS, gather, pointers, i32(8), bits, constant(RECORDS, 0))
        recent = records >= b.splat(b.resize(race.first, "i64") << 32, HALF)
        generic = (records & (GENERIC_WRITE | MOST_EPOCHS << EPOCH_BIT)) != 0
        with b.lanes(b.resize(b.bitcast(recent & generic, "i16"), "i32")) as suspect:
            theirs = b.extract(records, suspect)
            stamp = b.resize(theirs >> 32, "i32")
            index = stamp - shadow.base
            with b.if_(index < shadow.event_limit):
                who = event_of(b, shadow, index).who
                fenced = b.load("i32", entry(b, race.field("fenced"), b.resize(who, "i32") & (LANES - 1)))
                with b.if_(((who >> 5) == race.block) & (stamp > fenced)):
                    address = shadow.start + (b.extract(units, suspect) << b.resize(shadow.shift, "i64"))
                    arguments = i32(FAULT["proxy_fence"]), b.extract(entries, suspect), theirs, address, i32(0)
                    b.call("void", "gs_global_report", warp, *arguments)
                    b.ret()


def _show_source(b: Builder, race: Record, lane: Value, address: Value, bytes_: Value, source: Value) -> None:
    """What is stored, as gs_race_silent reads it: rows of lanes, of which there is one element, the whole copy."""
    where, back = b.alloca("i64"), 0 - b.resize(lane, "i64")
    b.store(address, where)
    first = b.offset(source, back * bytes_)
    race.where = b.offset(where, back * 8)
    race.values = b.select(source == NULL, NULL, first)
    race.size = b.resize(bytes_, "i32")
