"""Stamps: the clocks of the race detector, unique in all launches, and what blocks know of one another.

A warp works under a stamp until it meets others: at a barrier, a fence, an acquire-release access. Within a block,
vector clocks of stamps say what happened before what (runtime/races.py). Between blocks, a fence publishes all that its
warp knows of its own block, and whoever acquires later (an atomic, a volatile or acquire load, a fence) is taken to
know all that has been published by then. So order is never missed; a race may be.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, BLOCK_STRONG, EVENT, LANES, RACE, SHADOW, STRONG, WARP

_NULL = Value("null", "ptr")


def emit_stamps(m: Module) -> None:
    """gs_stamps_take, gs_stamp_enter, gs_race_publish, gs_race_acquire, gs_stamp_order."""
    _take(m)
    _publish(m)
    _acquire(m)
    _order(m)


def entry(b: Builder, field: Value, index: Value) -> Value:
    """The i32 with a number, of a row of them."""
    return b.offset(field, b.op("mul", b.resize(index, "i64"), i64(4)))


def row_of(b: Builder, race: Value, warp: Value) -> Value:
    """What a warp knows of each warp of its block."""
    return b.offset(b.field(race, RACE, "seen"), b.op("mul", b.resize(warp, "i64"), i64(4 * LANES)))


def _now(b: Builder, shadow: Value) -> Value:
    clock = b.field(shadow, SHADOW, "clock")
    return b.define("i32", f"load atomic i32, ptr {clock.name} monotonic, align 4")


def event_of(b: Builder, shadow: Value, index: Value) -> Value:
    """The entry of a stamp, counted from the launch's first."""
    return b.offset(b.get(shadow, SHADOW, "events"), b.op("mul", b.resize(index, "i64"), i64(EVENT.size)))


def _take(m: Module) -> None:
    with m.function("i32", "gs_stamps_take", "ptr race", "i32 count") as (b, (race, count)):
        clock = b.field(b.get(race, RACE, "shadow"), SHADOW, "clock")
        b.ret(b.define("i32", f"atomicrmw add ptr {clock.name}, {count!r} monotonic"))
    with m.function("void", "gs_stamp_enter", "ptr race", "i32 stamp", "i32 warp") as (b, (race, stamp, warp)):
        shadow = b.get(race, RACE, "shadow")
        index = b.op("sub", stamp, b.get(shadow, SHADOW, "base"))
        with b.if_(b.compare("ult", index, b.get(shadow, SHADOW, "event_limit")), likely=True):
            event = event_of(b, shadow, index)
            who = b.op("or", b.op("shl", b.get(race, RACE, "block"), i64(5)), b.resize(warp, "i64"))
            b.put(event, EVENT, "who", who)
            b.put(event, EVENT, "published", 0)
            b.put(event, EVENT, "next", b.get(race, RACE, "pending"))
            b.put(race, RACE, "pending", stamp)
            b.emit("fence release")  # whoever meets the stamp in the shadow finds this entry


def _publish(m: Module) -> None:
    """What a warp knows of its own block is published at the time `when`."""
    with m.function("void", "gs_race_publish", "ptr race", "i32 warp", "i32 when") as (b, (race, own, when)):
        shadow, row = b.get(race, RACE, "shadow"), row_of(b, race, own)
        base, at = b.get(shadow, SHADOW, "base"), b.alloca("ptr")
        b.store(b.field(race, RACE, "pending"), at)
        with b.loop() as done:
            link = b.load("ptr", at)
            stamp = b.load("i32", link)
            b.break_if(b.compare("eq", stamp, i32(0)), done)
            event = event_of(b, shadow, b.op("sub", stamp, base))
            warp = b.op("and", b.resize(b.get(event, EVENT, "who"), "i32"), i32(LANES - 1))
            known = b.compare("ule", stamp, b.load("i32", entry(b, row, warp)))
            following = b.field(event, EVENT, "next")
            b.store(b.select(known, link, following), at)
            with b.if_(known):
                published = b.field(event, EVENT, "published")
                b.emit(f"store atomic {when!r}, ptr {published.name} monotonic, align 4")
                b.store(b.load("i32", following), link)


def _acquire(m: Module) -> None:
    """A warp has read what others may have written to tell it something."""
    with m.function("void", "gs_race_acquire", "ptr warp") as (b, (warp,)):
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        with b.if_(b.compare("ne", race, _NULL)):
            own = b.get(warp, WARP, "warp")
            row, released = row_of(b, race, own), b.field(race, RACE, "released")
            type_ = f"<{LANES} x i32>"
            both = b.intrinsic("umax", b.load(type_, row, align=4), b.load(type_, released, align=4))
            b.store(both, row, align=4)
            b.store(_now(b, b.get(race, RACE, "shadow")), entry(b, b.field(race, RACE, "acquired"), own))


def _order(m: Module) -> None:
    """How strong two accesses must be not to race, of which the one in a record came first: 0 where it happened before.

    A strong access is itself what an acquire may have read: it happened before all that follows such a one.
    """
    with m.function("i32", "gs_stamp_order", "ptr race", "i32 own", "i64 record") as (b, (race, own, record)):
        shadow = b.get(race, RACE, "shadow")
        stamp = b.resize(b.op("lshr", record, i64(32)), "i32")
        index = b.op("sub", stamp, b.get(shadow, SHADOW, "base"))
        with b.if_(b.compare("uge", index, b.get(shadow, SHADOW, "event_limit"))):
            b.ret(i32(0))
        acquired = b.load("i32", entry(b, b.field(race, RACE, "acquired"), own))
        strong = b.compare("ne", b.op("and", record, i64(3 << 5)), i64(0))
        with b.if_(b.op("and", strong, b.compare("ugt", acquired, stamp))):
            b.ret(i32(0))
        event = event_of(b, shadow, index)
        who = b.get(event, EVENT, "who")
        warp = b.op("and", b.resize(who, "i32"), i32(LANES - 1))
        with b.if_(b.compare("eq", b.op("lshr", who, i64(5)), b.get(race, RACE, "block"))):
            known = b.compare("ule", stamp, b.load("i32", entry(b, row_of(b, race, own), warp)))
            fine = b.op("or", known, b.compare("eq", warp, own))
            b.ret(b.select(fine, i32(0), i32(BLOCK_STRONG)))
        published = b.field(event, EVENT, "published")
        when = b.define("i32", f"load atomic i32, ptr {published.name} monotonic, align 4")
        known = b.op("and", b.compare("ne", when, i32(0)), b.compare("ule", when, acquired))
        b.ret(b.select(known, i32(0), i32(STRONG)))
