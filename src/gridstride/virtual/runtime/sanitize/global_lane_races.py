"""Races in global memory between the lanes of one warp, in the observed build.

What holds in shared memory (shared_lane_races.py) holds here: what one lane writes another may touch only after
something that brings lanes together. A warp counts those moments, its epoch, which each entry of the shadow keeps
beside the stamp. When the few bits for it are used up the warp takes a new stamp.
"""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import (
    ATOMIC_BIT,
    EPOCH_BIT,
    MOST_EPOCHS,
    SEVERAL_BIT,
    SITE_BIT,
    STRENGTH_BIT,
)
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.sanitize.clocks import entry, event_of, row_of

HALF = LANES // 2
RECORDS = f"<{HALF} x i64>"
RACES = i32(FAULT["race"])
_LANE = LANES - 1


def emit_lane_races(m: IrModule) -> None:
    """gs_lanes_meet begins an epoch; gs_global_lanes_* look at what lanes of one warp did in one epoch, at loads
    after writes (load), stores after reads and writes; gs_global_crowd at lanes that store to one place at once.
    """
    _meet(m)
    _releases(m)
    _same_value(m)
    _crowd(m)
    for name in ("load", "reads", "writes"):
        _lanes(m, name)


def _meet(m: IrModule) -> None:
    with m.function("void", "gs_lanes_meet", "warp* warp") as (b, (warp,)):
        epoch = warp.lane_epoch
        with b.if_(epoch == 0):
            b.ret()
        warp.lanes_gave = 0
        with b.if_(epoch < MOST_EPOCHS, likely=True):
            warp.lane_epoch = epoch + 1
            b.ret()
        warp.lane_epoch = 1
        warp.fenced_epoch = 0
        race = warp.block.race
        with b.if_(race != NULL):
            own = warp.warp
            stamp = b.call("i32", "gs_stamps_take", race, i32(1))
            b.store(stamp, entry(b, row_of(b, race, own), own))
            b.store(stamp, entry(b, race.field("current"), own))
            b.call("void", "gs_stamp_enter", race, stamp, own)


def _releases(m: IrModule) -> None:
    """What lanes write plainly and who tells of it: each for itself, until all have met."""
    with m.function("void", "gs_lanes_wrote", "warp* warp", "race* race", "i32 mask") as (b, (warp, race, mask)):
        event = _current(b, warp, race)
        event.lanes = event.lanes | mask
        # What a lane has told under this stamp was told without a fence behind its stores, and before this one.
        row, now = _released_row(b, race, warp.warp), b.load("i32", entry(b, race.field("current"), warp.warp))
        released = b.load(wide("i32"), row, align=4)
        earlier = b.intrinsic("umin", released, b.splat(now - 1))
        b.store(b.select(b.bitcast(mask, wide("i1")), earlier, released), row, align=4)
    with m.function("void", "gs_lanes_together", "warp* warp") as (b, (warp,)):
        race = _race_of(b, warp)
        b.store(b.load("i32", entry(b, race.field("current"), warp.warp)), entry(b, race.field("met"), warp.warp))
        event = _current(b, warp, race)
        with b.if_(event.lanes != 0):
            event.lanes = 0
            event.epoch = b.select(warp.lane_epoch == 0, i32(MOST_EPOCHS), warp.lane_epoch)
    with m.function("void", "gs_lanes_gave", "warp* warp", "i32 mask") as (b, (warp, mask)):
        race = _race_of(b, warp)
        with b.if_(mask == 0):
            b.ret()
        row, now = _released_row(b, race, warp.warp), b.load("i32", entry(b, race.field("current"), warp.warp))
        tells = b.bitcast(mask | ~warp.live, wide("i1"))  # who has returned has done its part
        b.store(b.select(tells, b.splat(now), b.load(wide("i32"), row, align=4)), row, align=4)
    with m.function("i32", "gs_lanes_held", "race* race", "i32 stamp") as (b, (race, stamp)):
        event = event_of(b, race.shadow, stamp - race.shadow.base)
        lanes, other_lane = event.lanes, b.resize(event.who, "i32") & _LANE
        with b.if_((lanes == 0) | (stamp < b.load("i32", entry(b, race.field("met"), other_lane)))):
            b.ret(i32(0))
        is_released = b.load(wide("i32"), _released_row(b, race, other_lane), align=4) >= b.splat(stamp)
        b.ret(lanes & ~b.bitcast(is_released, "i32"))


def _race_of(b: Builder, warp: Record) -> Record:
    """The block's record; the function returns where it has none."""
    race = warp.block.race
    with b.if_(race == NULL):
        b.ret()
    return race


def _current(b: Builder, warp: Record, race: Record) -> Record:
    """The event that a warp works under; the function returns where none is kept."""
    shadow = race.shadow
    index = b.load("i32", entry(b, race.field("current"), warp.warp)) - shadow.base
    with b.if_(index >= shadow.event_limit):
        b.ret()
    return event_of(b, shadow, index)


def _released_row(b: Builder, race: Record, warp: Value) -> Value:
    """Under which stamp each lane of a warp last told others something."""
    return b.offset(race.field("given"), b.resize(warp, "i64") * (4 * LANES))


def withheld(b: Builder, race: Record, shadow: Record, own: Value, stamp: Value, records: Value) -> Value:
    """The bits of plain writes, of records with this stamp, of which another lane of their warp has told or none."""
    result, index = b.alloca("i32"), stamp - shadow.base
    b.store(i32(0), result)
    with b.if_(index < shadow.event_limit):
        event = event_of(b, shadow, index)
        with b.if_(event.lanes != 0):
            who, lanes = event.who, b.alloca("i32")
            b.store(event.lanes, lanes)
            with b.if_((who >> 5) == race.block):
                held = b.call("i32", "gs_lanes_held", race, stamp)
                b.store(b.select((b.resize(who, "i32") & _LANE) == own, i32(0), held), lanes)
            low = b.resize(records, "i32")
            wrote = (b.splat(b.load("i32", lanes), HALF) >> (low & _LANE)) & 1
            since = ((low >> EPOCH_BIT) & MOST_EPOCHS) > b.splat(event.epoch, HALF)
            plain = (low & (3 << STRENGTH_BIT)) == 0
            b.store(b.resize(b.bitcast((wrote != 0) & since & plain, "i16"), "i32"), result)
    return b.load("i32", result)


def note_fence(b: Builder, warp: Record) -> None:
    """A fence gives a warp another stamp and does not bring its lanes together: what they did before it counts on."""
    epoch = warp.lane_epoch
    with b.if_(epoch != warp.fenced_epoch):
        warp.fenced_epoch = epoch
        warp.fenced_since = b.load("i32", entry(b, warp.block.race.field("current"), warp.warp))


def behind_fence(b: Builder, warp: Record, entry_: Value) -> Value:
    """An i1: the access is held against other lanes' ones, and comes behind a fence since the lanes met."""
    epoch = (b.resize(entry_, "i32") >> EPOCH_BIT) & MOST_EPOCHS
    return (epoch != 0) & (epoch == warp.fenced_epoch)


def lanes_behind_fences(
    b: Builder, warp: Record, race: Record, shadow: Record, stamp: Value, sides: tuple[Value, Value]
) -> Value:
    """The i1s of the entries, of records with this stamp, that other lanes of this warp made since they last met, with
    fences between.
    """
    entries, records = sides
    number = b.alloca("i32")
    b.store(i32(0), number)
    index = stamp - shadow.base
    since = (stamp >= warp.fenced_since) & (index < shadow.event_limit)
    with b.if_(since & behind_fence(b, warp, b.extract(entries, 0))):
        who = event_of(b, shadow, index).who
        with b.if_(who == ((race.block << 5) | b.resize(warp.warp, "i64"))):
            step, epochs = records ^ entries, i64(MOST_EPOCHS << EPOCH_BIT)
            other_lanes = (step & _LANE) | (records & (1 << SEVERAL_BIT))
            apart = ((step & b.splat(epochs, HALF)) == 0) & (other_lanes != 0) & ~atomic_and_strong(b, records, entries)
            b.store(b.resize(b.bitcast(apart, "i16"), "i32"), number)
    return b.load("i32", number)


def atomic_and_strong(b: Builder, records: Value, entries: Value) -> Value:
    """The i1s of those of which one is an atomic and the other no plain access: lanes do not race there."""
    strengths = i64(3 << STRENGTH_BIT)
    strong = ((records & b.splat(strengths, HALF)) != 0) & ((entries & b.splat(strengths, HALF)) != 0)
    return strong & (((records | entries) & (1 << ATOMIC_BIT)) != 0)


def _lanes(m: IrModule, name: str) -> None:
    """Reports suspects; gives those that store what is there already, which is no write."""
    head = ("warp* warp", "race* race", "shadow* shadow", f"{RECORDS} units", f"{RECORDS} entries",
            f"{RECORDS} records", "i16 suspects")  # fmt: skip
    with m.function("i16", f"gs_global_lanes_{name}", *head, cold=True) as (b, args):
        warp, race, shadow, units, entries, records, suspects = args
        silent, shift = b.alloca("i32"), shadow.shift
        b.store(i32(0), silent)
        with b.lanes(b.resize(suspects, "i32")) as index:
            unit, mine, theirs = (b.extract(v, index) for v in (units, entries, records))
            offset = unit << b.resize(shift, "i64")
            address = shadow.start + offset
            lane, other = (b.resize(v, "i32") & _LANE for v in (mine, theirs))
            loud, done = b.new_label("loud"), b.new_label("done")
            if name == "writes":
                _same_instruction(b, race, address, (lane, other), (mine, theirs), loud, done)
            if name != "load":
                same = b.call("i1", "gs_race_silent", race, lane, address, b.pointer(address), shift)
                b.store(b.load("i32", silent) | (b.resize(same, "i32") << index), silent)
                b.branch(same, done, loud)
            b.start(loud)
            # Where the lane itself was the first of several readers, another one stands for them.
            flip = b.select(lane == other, i64(1), i64(0))
            writes = i32(int(name != "load"))
            b.call("void", "gs_global_report", warp, RACES, mine, theirs ^ flip, address, writes)
            b.jump(done)
            b.start(done)
        b.ret(b.resize(b.load("i32", silent), "i16"))


def _same_instruction(
    b: Builder, race: Record, address: Value, lanes: tuple[Value, Value], entries: tuple[Value, Value], loud: str,
    done: str,
) -> None:  # fmt: skip
    """Two stores to one place: those of one instruction are no race where both lanes store the same."""
    shown, alone, known_label = b.new_label("shown"), b.new_label("alone"), b.new_label("known")
    b.branch(race.values != NULL, shown, alone)
    b.start(alone)  # what it stores is not known here, nor whether this is one instruction
    sites = ((entries[0] ^ entries[1]) >> SITE_BIT) & ((1 << (32 - SITE_BIT)) - 1)
    b.branch(sites == 0, done, loud)
    b.start(shown)
    offset = address - b.call("i64", "gs_storing_to", race, lanes[1])
    overlaps = offset < b.resize(race.storing_bytes, "i64")
    before = b.new_label("before")
    b.branch(overlaps, known_label, before)
    b.start(known_label)
    b.branch(b.call("i1", "gs_same_value", race, *lanes), done, loud)
    b.start(before)


def _row(b: Builder, field: Value, lane: Value, size: Value | int) -> Value:
    return b.offset(field, b.resize(lane, "i64") * (i64(size) if isinstance(size, int) else size))


def _same_value(m: IrModule) -> None:
    """Of the store that is looked at: where a lane stores to (-1: nowhere), and whether two lanes store the same."""
    with m.function("i64", "gs_storing_to", "race* race", "i32 lane", cold=True) as (b, (race, lane)):
        active = (race.storing >> lane) & 1
        with b.if_(active != 0):
            b.ret(b.load("i64", _row(b, race.where, lane, 8)))
        b.ret(i64(-1))
    true = constant("i1", True)
    with m.function("i1", "gs_same_value", "race* race", "i32 lane", "i32 other", cold=True) as (
        b,
        (race, lane, other),
    ):
        values, size = race.values, b.resize(race.size, "i64")
        rows, at = [_row(b, values, which, size) for which in (lane, other)], b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as done:
            j = b.load("i64", at)
            b.break_if(j >= b.resize(race.storing_bytes, "i64"), done)
            # The elements of a vector lie apart: first those of all lanes, then the next of each.
            element, within = j // size, j % size
            byte_offset = element * (size * LANES) + within
            x, y = (b.load("i8", b.offset(row, byte_offset)) for row in rows)
            with b.if_(x != y), b.if_(_nan_of_either_sign(b, rows[0], byte_offset, x, y) ^ true):
                b.ret(constant("i1", False))
            b.store(j + 1, at)
        b.ret(true)


def _nan_of_either_sign(b: Builder, row: Value, byte_offset: Value, x: Value, y: Value) -> Value:
    """Whether all that differs is the sign of a NaN without payload. A GPU makes one NaN of whatever there was; the
    processor keeps signs, so lanes whose sums met the same NaNs in another order hold others.
    """
    sign = (x ^ y) == -128
    last = byte_offset % 4 == 3
    first = byte_offset & -4
    word = b.load("i32", b.offset(row, first)) & 0x7FFFFFFF
    return sign & last & (word == 0x7FC00000)


def _crowd(m: IrModule) -> None:
    """Sixteen lanes that store to one place at once, the first of which is `first`: they should store the same."""
    head = ("warp* warp", "race* race", "i64 me", "i64 address", "i32 first")
    with m.function("void", "gs_global_crowd", *head) as (b, (warp, race, me, address, first)):
        watched = ((me & (MOST_EPOCHS << EPOCH_BIT)) != 0) & ((me & (1 << ATOMIC_BIT)) == 0)
        shown = race.values != NULL
        with b.if_(watched & shown):
            lanes = ((1 << HALF) - 2) << first
            with b.lanes(lanes) as lane:
                same = b.call("i1", "gs_same_value", race, lane, first)
                with b.if_(~same):
                    mine, theirs = (me | b.resize(which, "i64") for which in (lane, first))
                    b.call("void", "gs_global_report", warp, RACES, mine, theirs, address, i32(1))
                    b.ret()
