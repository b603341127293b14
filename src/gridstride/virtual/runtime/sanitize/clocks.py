"""Stamps: the clocks of the race detector, unique in all launches, and what blocks know of one another.

A warp works under a stamp until it meets others: at a barrier, a fence, an acquire-release access. Within a block,
vector clocks of stamps say what happened before what (shared_races.py). Between blocks, a fence puts behind it all that
its warp knows of its own block; of that, who tells others something then (an atomic, a volatile or relaxed store)
publishes what it knows itself: a barrier between the fences of all warps and one thread's count makes it know. Whoever
acquires later (an atomic, a volatile or acquire load) is taken to know all that has been published by then. So order is
never missed; a race may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import BLOCK_STRONG, STRONG
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import i32


def emit_stamps(m: IrModule) -> None:
    """gs_stamps_take, gs_stamp_enter, _hold, _finish and _order, gs_race_publish, _tell, _acquire."""
    _take(m)
    _hold(m)
    _publish(m)
    _acquire(m)
    _order(m)


def entry(b: Builder, field: Value, index: Value) -> Value:
    """The i32 with a number, of a row of them."""
    return b.offset(field, b.resize(index, "i64") * 4)


def row_of(b: Builder, race: Record, warp: Value) -> Value:
    """What a warp knows of each warp of its block."""
    return b.offset(race.field("seen"), b.resize(warp, "i64") * (4 * LANES))


def _now(b: Builder, shadow: Record) -> Value:
    clock = shadow.field("clock")
    return b.define("i32", f"load atomic i32, ptr {clock.name} monotonic, align 4")


def event_of(b: Builder, shadow: Record, index: Value) -> Record:
    """The entry of a stamp, counted from the launch's first."""
    return shadow.events[b.resize(index, "i64")]


def _take(m: IrModule) -> None:
    with m.function("i32", "gs_stamps_take", "race* race", "i32 count") as (b, (race, count)):
        clock = race.shadow.field("clock")
        b.ret(b.define("i32", f"atomicrmw add ptr {clock.name}, {count!r} monotonic"))
    with m.function("void", "gs_stamp_enter", "race* race", "i32 stamp", "i32 warp") as (b, (race, stamp, warp)):
        shadow = race.shadow
        index = stamp - shadow.base
        with b.if_(index < shadow.event_limit, likely=True):
            event = event_of(b, shadow, index)
            who = (race.block << 5) | b.resize(warp, "i64")
            event.who = who
            event.published = 0
            event.fenced = 0
            event.lanes = 0
            event.epoch = 0
            event.next = race.pending
            race.pending = stamp
            b.emit("fence release")  # whoever meets the stamp in the shadow finds this entry


def _hold(m: IrModule) -> None:
    """Writes that have been started and may not have arrived: no fence publishes their stamp before it is finished."""
    head = ("race* race", "i32 stamp", "i32 warp", "i32 before")
    with m.function("void", "gs_stamp_hold", *head) as (b, (race, stamp, warp, previous)):
        shadow = race.shadow
        index = stamp - shadow.base
        with b.if_(index < shadow.event_limit, likely=True):
            event = event_of(b, shadow, index)
            event.who = (race.block << 5) | b.resize(warp, "i64")
            event.published = 0
            event.fenced = 0
            event.lanes = 0
            event.epoch = 0
            event.next = previous
            b.emit("fence release")
    with m.function("void", "gs_stamp_finish", "race* race", "i32 last") as (b, (race, last)):
        shadow, at = race.shadow, b.alloca("i32")
        b.store(last, at)
        with b.loop() as done:
            stamp = b.load("i32", at)
            index = stamp - shadow.base
            b.break_if((stamp == 0) | (index >= shadow.event_limit), done)
            event = event_of(b, shadow, index)
            b.store(event.next, at)
            event.next = race.pending
            race.pending = stamp


def _publish(m: IrModule) -> None:
    """gs_race_publish: what a warp knows of its own block is behind a fence. gs_race_tell, ahead of what may tell other
    blocks: of that, what the warp that does so knows is published, now, and stays in the list where it is not for all
    lanes that wrote.
    """
    with (
        m.function("void", "gs_race_publish", "race* race", "i32 warp", "i32 when") as (b, (race, own, when)),
        _acquired_events(b, race, own, "pending") as (_, event, stamp),
    ):
        _note(b, event, "fenced", when)
        event.next = race.fenced_stamps
        race.fenced_stamps = stamp
    with m.function("void", "gs_race_tell", "warp* warp", "i32 mask") as (b, (warp, mask)):
        race = warp.block.race
        with b.if_((mask == 0) | ~(race != NULL)):
            b.ret()
        with b.if_(race.fenced_stamps == 0, likely=True):
            b.ret()
        b.call("void", "gs_lanes_gave", warp, mask)
        when = b.call("i32", "gs_stamps_take", race, i32(1)) + 1
        latest, last = b.alloca("i32"), b.alloca("i32")
        b.store(i32(0), latest)
        with _acquired_events(b, race, warp.warp, "fenced_stamps") as (b, event, stamp):
            held = b.call("i32", "gs_lanes_held", race, stamp)
            event.lanes = held
            with b.if_(event.published == 0):
                _note(b, event, "published", when)
            with b.if_(held != 0):
                previous = b.load("i32", latest)
                b.store(b.select(previous == 0, stamp, b.load("i32", last)), last)
                event.next = previous
                b.store(stamp, latest)
        with b.if_(b.load("i32", latest) != 0):
            event_of(b, race.shadow, b.load("i32", last) - race.shadow.base).next = race.fenced_stamps
            race.fenced_stamps = b.load("i32", latest)


def _note(b: Builder, event: Record, name: str, when: Value) -> None:
    at = event.field(name)
    b.emit(f"store atomic {when!r}, ptr {at.name} monotonic, align 4")


@contextmanager
def _acquired_events(b: Builder, race: Record, own: Value, name: str) -> Iterator[tuple[Builder, Record, Value]]:
    """The body takes each stamp of a list that a warp knows; it is taken out of the list before."""
    shadow, row = race.shadow, row_of(b, race, own)
    base, at = shadow.base, b.alloca("ptr")
    b.store(race.field(name), at)
    with b.loop() as done:
        link = b.load("ptr", at)
        stamp = b.load("i32", link)
        b.break_if(stamp == 0, done)
        event = event_of(b, shadow, stamp - base)
        warp = b.resize(event.who, "i32") & (LANES - 1)
        is_acquired = stamp <= b.load("i32", entry(b, row, warp))
        following = event.field("next")
        b.store(b.select(is_acquired, link, following), at)
        with b.if_(is_acquired):
            b.store(b.load("i32", following), link)
            yield b, event, stamp


def _acquire(m: IrModule) -> None:
    """A warp has read what others may have written to tell it something."""
    with m.function("void", "gs_race_acquire", "warp* warp") as (b, (warp,)):
        race = warp.block.race
        with b.if_(race != NULL):
            own = warp.warp
            row, released = row_of(b, race, own), race.field("released")
            type_ = f"<{LANES} x i32>"
            merged = b.intrinsic("umax", b.load(type_, row, align=4), b.load(type_, released, align=4))
            b.store(merged, row, align=4)
            b.store(_now(b, race.shadow), entry(b, race.field("acquired"), own))


def _order(m: IrModule) -> None:
    """How strong two accesses must be not to race, of which the one in a record came first: 0 where it happened before.

    An access that is strong for this block is itself what an acquire may have read: it happened before all that follows
    such a one. An atomic of another block's own scope is none: order between blocks takes a wider one on both sides.

    What a block has read it has read where a fence stands behind it, whoever told of it, and when: a load has ended
    before a barrier, a store may not have arrived.
    """
    head = ("race* race", "i32 own", "i64 record", "i1 read")
    with m.function("i32", "gs_stamp_order", *head) as (b, (race, own, record, read)):
        shadow = race.shadow
        stamp = b.resize(record >> 32, "i32")
        index = stamp - shadow.base
        with b.if_(index >= shadow.event_limit):
            b.ret(i32(0))
        acquired = b.load("i32", entry(b, race.field("acquired"), own))
        event = event_of(b, shadow, index)
        who = event.who
        warp = b.resize(who, "i32") & (LANES - 1)
        at_home = (who >> 5) == race.block
        strong = b.select(at_home, (record & (3 << 5)) != 0, (record & (STRONG << 5)) != 0)
        with b.if_(strong & (acquired > stamp)):
            b.ret(i32(0))
        with b.if_(at_home):
            ordered = stamp <= b.load("i32", entry(b, row_of(b, race, own), warp))
            fine = ordered | (warp == own)
            b.ret(b.select(fine, i32(0), i32(BLOCK_STRONG)))
        published = b.select(read, event.field("fenced"), event.field("published"))
        when = b.define("i32", f"load atomic i32, ptr {published.name} monotonic, align 4")
        ordered = (when != 0) & (when <= acquired)
        b.ret(b.select(ordered, i32(0), i32(STRONG)))
