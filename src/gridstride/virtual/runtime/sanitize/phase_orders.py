"""What an mbarrier orders among the warps of a block: who waits for a phase knows what came to it before it ended.

Each object has two vector clocks: of all arrivals, and of those up to the end of its last phase. An arrival that comes
when the phase has ended counts for the next one: a waiter that wakes later does not know of it. Blocks of a cluster,
whose warps arrive at one another's objects, share one clock for all of them (gs_race_order), and so do objects for
which there is no room: order is never missed, a race may be.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import PHASE_OBJECTS
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.clocks import entry, row_of
from gridstride.virtual.runtime.schedule.cluster_blocks import cluster_of

_TYPE = wide("i32")
_CLOCK = 4 * LANES


def emit_phase_orders(m: IrModule) -> None:
    """gs_phase_give: an arrival, `relaxed` where it releases only what fences have; gs_phase_gave, behind those of one
    instruction; gs_phase_flip: a phase ends; gs_phase_get: a wait for one is over; gs_phase_share: in clusters.
    """
    _slot(m)
    _give(m)
    _flip(m)
    _get(m)
    with m.function("void", "gs_phase_share", "warp* warp") as (b, (warp,)), b.if_(cluster_of(b, warp) != NULL):
        b.call("void", "gs_race_order", warp)


def _slot(m: IrModule) -> None:
    """The clocks of an object in its block's table; null where there is no room for another one."""
    with m.function("ptr", "gs_phase_slot", "race* race", "ptr place") as (b, (race, pointer)):
        address, number = b.define("i64", f"ptrtoint {pointer!r} to i64"), b.alloca("i32")
        count = race.phase_count
        b.store(i32(0), number)
        with b.loop() as done:
            i = b.load("i32", number)
            b.break_if(i >= count, done)
            with b.if_(b.load("i64", race.field("phase_objects", b.resize(i, "i64"))) == address):
                b.ret(_clocks(b, race, i))
            b.store(i + 1, number)
        with b.if_(count >= PHASE_OBJECTS):
            b.ret(NULL)
        b.store(address, race.field("phase_objects", b.resize(count, "i64")))
        race.phase_count = count + 1
        clocks = _clocks(b, race, count)
        for half in (0, _CLOCK):
            b.store(constant(_TYPE, 0), b.offset(clocks, half), align=4)
        b.ret(clocks)


def _clocks(b: Builder, race: Record, number: Value) -> Value:
    return b.offset(race.field("phase_clocks"), b.resize(number, "i64") * (2 * _CLOCK))


def _watched(b: Builder, warp: Record) -> Record:
    """The block's record; the function returns where nothing is watched, and in a cluster."""
    race = warp.block.race
    with b.if_((race == NULL) | (cluster_of(b, warp) != NULL)):
        b.ret()
    return race


def _join(b: Builder, to: Value, other: Value) -> None:
    """A clock learns what another one knows."""
    b.store(b.intrinsic("umax", b.load(_TYPE, to, align=4), b.load(_TYPE, other, align=4)), to, align=4)


def _give(m: IrModule) -> None:
    with m.function("void", "gs_phase_give", "warp* warp", "ptr place", "i1 relaxed") as (b, (warp, pointer, relaxed)):
        race = _watched(b, warp)
        row, released = row_of(b, race, warp.warp), race.field("released")
        clock = b.call("ptr", "gs_phase_slot", race, pointer)
        with b.if_(clock == NULL):
            with b.if_(~relaxed):
                _join(b, released, row)
            b.ret()
        _join(b, clock, b.select(relaxed, released, row))
    with m.function("void", "gs_phase_gave", "warp* warp") as (b, (warp,)):
        race, own = _watched(b, warp), warp.warp
        # What the warp does from now on is later than what it has given.
        stamp = b.call("i32", "gs_stamps_take", race, i32(1))
        race.released_at = b.intrinsic("umax", b.load("i32", entry(b, race.field("acquired"), own)), race.released_at)
        b.store(stamp, entry(b, row_of(b, race, own), own))
        b.store(stamp, entry(b, race.field("current"), own))
        b.call("void", "gs_stamp_enter", race, stamp, own)


def _flip(m: IrModule) -> None:
    with m.function("void", "gs_phase_flip", "warp* warp", "ptr place") as (b, (warp, pointer)):
        clock = b.call("ptr", "gs_phase_slot", _watched(b, warp), pointer)
        with b.if_(clock != NULL):
            b.store(b.load(_TYPE, clock, align=4), b.offset(clock, _CLOCK), align=4)


def _get(m: IrModule) -> None:
    """`relaxed`: what the phase's arrivals gave is known behind a fence only."""
    with m.function("void", "gs_phase_get", "warp* warp", "ptr place", "i1 relaxed") as (b, (warp, pointer, relaxed)):
        race, own = _watched(b, warp), warp.warp
        released = race.field("released")
        clock = b.call("ptr", "gs_phase_slot", race, pointer)
        source = b.select(clock == NULL, released, b.offset(clock, _CLOCK))
        _join(b, b.select(relaxed, released, row_of(b, race, own)), source)
        with b.if_(~relaxed):
            time = entry(b, race.field("acquired"), own)
            b.store(b.intrinsic("umax", b.load("i32", time), race.released_at), time)
