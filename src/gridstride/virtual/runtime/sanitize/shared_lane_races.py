"""Races between the lanes of one warp, in the observed build.

Since Volta the lanes of a warp need not run in step: what one lane writes another may read only after a __syncwarp() or
another instruction that orders the memory of lanes. Each warp counts those (`epoch`), and each unit of shared memory
remembers in which epoch which lane wrote it, and which read it. A member mask brings those together that it names: they
know what each of them knew (`known`). Volatile accesses order nothing between lanes either, and atomics what
lane_atomics.py says. An atomic races with plain accesses as between warps (atomic_races.py), with volatile ones not.

Votes, matches, shuffles and matrix instructions wait for all lanes, too, but order no memory: what was read before has
been read, what was written need not be seen (`gathered` beside `met`). Those that name some lanes alone count as order.
A cp.async is a write by its own lane where that lane waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.finding_records import SINGLE_LANE_WAIT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import ATOMIC, COMPARED, COPIED, LANE_SHADOW, SEVERAL, VOLATILE
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize import lane_orders
from gridstride.virtual.runtime.sanitize.clocks import row_of
from gridstride.virtual.runtime.sanitize.lane_atomics import emit_lane_atomics
from gridstride.virtual.runtime.sanitize.lane_loads import emit_lane_loads
from gridstride.virtual.runtime.sanitize.lane_orders import block_lanes, emit_lane_orders
from gridstride.virtual.runtime.sanitize.shared_races import plane_of
from gridstride.virtual.runtime.sanitize.uninitialised.unset_shared import units_of

WRITTEN, READ = 0, 1
"""The planes of a unit."""


def emit_lanes(m: IrModule) -> None:
    """gs_lanes_begin, _sync, _gather, _join, _members, _load, _store, _atomic, _checked, _copied, _received."""
    vector = wide("i32")
    with m.function("void", "gs_lanes_begin", "lanes* lanes") as (b, (lanes,)):
        pointer = lanes.field("epoch")
        now = b.load(vector, pointer, align=4)
        for field in ("met", "gathered", "begun"):
            b.store(now, lanes.field(field), align=4)
        b.store(now + 1, pointer, align=4)
        lane_orders.begin(b, lanes, now)
    emit_lane_orders(m)
    for name, fields in (("sync", ("met", "gathered")), ("gather", ("gathered",))):
        with m.function("void", f"gs_lanes_{name}", "warp* warp") as (b, (warp,)):
            b.call("void", "gs_lanes_together", warp)
            b.call("void", "gs_lanes_meet", warp)
            lanes = block_lanes(b, warp)
            pointer = _epoch(b, lanes, warp)
            now = b.load("i32", pointer)
            for field in fields:
                b.store(now, lanes.field(field, b.resize(warp.warp, "i64")))
            lane_orders.release_all(b, lanes, warp, now)
            b.store(now + 1, pointer)
    _join(m)
    emit_lane_atomics(m)
    emit_lane_loads(m)
    for kind in ("load", "store", "atomic", "checked", "compared"):
        _access(m, kind)
    _copied(m)
    _received(m)
    _overwritten(m)


def _epoch(b: Builder, lanes: Record, warp: Record) -> Value:
    number = b.resize(warp.warp, "i64")
    return lanes.field("epoch", number)


def _row(b: Builder, lanes: Record, warp: Record, lane: Value) -> Value:
    """Up to which epoch a lane of the warp knows each lane."""
    number = b.resize((warp.warp << 5) | lane, "i64")
    return b.offset(lanes.field("known"), number * (4 * LANES))


def _met_epoch(b: Builder, lanes: Record, warp: Record, plane: int) -> Value:
    """The last epoch whose writes, or reads, no lane of the warp can be ahead of."""
    return b.load("i32", lanes.field("met" if plane == WRITTEN else "gathered", b.resize(warp.warp, "i64")))


def _acquired_epoch(b: Builder, lanes: Record, warp: Record, lane: Value, other: Value) -> Value:
    """Up to which epoch a lane knows another one."""
    return b.load("i32", b.offset(_row(b, lanes, warp, lane), b.resize(other, "i64") * 4))


def _join(m: IrModule) -> None:
    """gs_lanes_join: the lanes of a mask meet, or with `gather` where it names all of them gather. gs_lanes_members:
    those of each mask that active lanes name; who is named counts, here or not, as the hardware waits for all, and must
    give the same mask if it is here.
    """
    vector = wide("i32")
    with m.function("void", "gs_lanes_join", "warp* warp", "i32 mask", "i1 gather") as (b, (warp, mask, gather)):
        with b.if_((warp.live & ~mask) == 0, likely=True):
            with b.if_(gather):
                b.call("void", "gs_lanes_gather", warp)
                b.ret()
            b.terminated = False
            b.call("void", "gs_lanes_sync", warp)
            b.ret()
        b.terminated = False
        b.call("void", "gs_lanes_together", warp)
        b.call("void", "gs_lanes_meet", warp)
        lanes = block_lanes(b, warp)
        pointer, joined = _epoch(b, lanes, warp), b.alloca(vector, align=64)
        now = b.load("i32", pointer)
        lane_orders.joined(b, lanes, warp, mask)
        b.store(constant(vector, 0), joined)
        with b.lanes(mask) as lane:
            row = b.load(vector, _row(b, lanes, warp, lane), align=4)
            b.store(b.intrinsic("umax", b.load(vector, joined), row), joined)
        with b.lanes(mask) as lane:
            b.store(now, b.offset(joined, b.resize(lane, "i64") * 4))
        with b.lanes(mask) as lane:
            b.store(b.load(vector, joined), _row(b, lanes, warp, lane), align=4)
        b.store(now + 1, pointer)
    with m.function(
        "void", "gs_lanes_members", "warp* warp", "i32 site", "i32 active", f"{vector} members", "i1 gather"
    ) as (
        b,
        args,
    ):
        warp, site, active, members, gather = args
        remaining = b.alloca("i32")
        b.store(active, remaining)
        with b.loop() as done:
            unjoined = b.load("i32", remaining)
            b.break_if(unjoined == 0, done)
            lane = b.call("i32", "llvm.cttz.i32", unjoined, constant("i1", False))
            mask = b.extract(members, lane)
            mismatched = mask & active & ~b.bitcast(members == b.splat(mask), "i32")
            with b.if_(mismatched != 0):
                other = b.call("i32", "llvm.cttz.i32", mismatched, constant("i1", True))
                b.call("void", "gs_report_masks", warp, site, lane, other, members)
            b.call("void", "gs_lanes_join", warp, mask, gather)
            b.store(unjoined & ~(mask | (i32(1) << lane)), remaining)


def _entry(b: Builder, lanes: Value, unit: Value, plane: int) -> Value:
    """A unit's entry: epoch, then site << 16 | warp << 8 | lane, of the last write or read."""
    index = unit * 2 + plane
    return b.offset(b.offset(lanes, LANE_SHADOW.size), index * 8)


def _access(m: IrModule, kind: str) -> None:
    """gs_lanes_load and _store, `strength` 0 or VOLATILE; gs_lanes_atomic; gs_lanes_checked and _compared, for atomics
    that look at the value (checks_value): they are held against plain writes alone, and leave no record, or a COMPARED.
    """
    strong = kind in ("atomic", "checked", "compared")
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", f"gs_lanes_{kind}", *head, *(() if strong else ("i32 strength",))) as (b, args):
        warp, site, mask, address, size, *more = args
        lanes = block_lanes(b, warp)
        race = warp.block.race
        epoch, own = b.load("i32", _epoch(b, lanes, warp)), warp.warp
        strength = i32(ATOMIC) if strong else more[0]
        # A poll is ATOMIC, too: it does not race with volatile stores.
        passes = i32(ATOMIC | VOLATILE) if strong else ((strength >> 1) & ATOMIC) | ((strength << 1) & VOLATILE)
        passes_others = passes
        if not strong:
            passes |= ~strength & COMPARED if kind == "load" else COMPARED
            # Between warps volatile accesses do not race, and a volatile load may be the one that is told.
            passes_others = passes | VOLATILE
        if kind == "load":
            passes_others = b.select((strength & VOLATILE) == 0, passes_others, i32(-1))
        context = _Context(kind, warp, race, lanes, epoch, passes, passes_others)
        if kind == "store":
            race.storing_bytes = size
        looked_at = b.alloca("i32")
        b.store(mask, looked_at)
        if kind == "load":
            with b.if_(strength == 0, likely=True):
                b.store(b.call("i32", "gs_lanes_note_loads", warp, site, mask, address, size), looked_at)
        # What one instruction writes is held against what was there before it, so all are checked before any is noted.
        with b.lanes(b.load("i32", looked_at)) as lane, units_of(b, race, b.extract(address, lane), size) as unit:
            _against(b, context, WRITTEN, site, lane, unit, writes=kind == "store")
            if kind in ("store", "atomic"):
                _against(b, context, READ, site, lane, unit, writes=False)
        if kind == "checked":
            return
        if kind == "load":
            with b.if_(strength == 0, likely=True):
                b.ret()
            b.terminated = False
            strength = strength & ~COMPARED
        elif kind == "compared":
            strength = i32(ATOMIC | COMPARED)
        me = (site << 16) | (own << 8) | strength
        with b.lanes(mask) as lane, units_of(b, race, b.extract(address, lane), size) as unit:
            entry = _entry(b, lanes, unit, READ if kind == "load" else WRITTEN)
            if kind == "store":
                _same_instruction(b, context, entry, (site, lane, mask), address, unit)
            _note(b, context, entry, lane, me | lane, "atomic" if strong else kind)


def _copied(m: IrModule) -> None:
    """gs_lanes_copied: lanes have waited for what an entry of the queue of copies has written for each of them."""
    with m.function("void", "gs_lanes_copied", "warp* warp", "copy* copy", "i32 lanes") as (b, (warp, entry, active)):
        block_lanes(b, warp)
        with b.if_((warp.observed != 0) & (active != 0)):
            target = b.load(wide("i64"), entry.field("target"), align=8)
            offsets = b.resize(target - b.splat(warp.shared), "i32")
            b.call("void", "gs_lanes_store", warp, entry.site, active, offsets, entry.size, i32(0))


def _received(m: IrModule) -> None:
    """gs_lanes_received: an entry of the queue of copies has landed for some lanes, and is released."""
    with m.function("void", "gs_lanes_received", "warp* warp", "copy* copy", "i32 mask") as (b, (warp, entry, mask)):
        lanes, race = block_lanes(b, warp), warp.block.race
        # Where nobody waits for others, all that come to know of the copy later do so for themselves.
        alone = b.load(wide("i32"), lanes.field("knowing"), align=4) == b.splat(i32(-1))
        with b.if_((warp.observed == 0) | (b.bitcast(alone, "i32") == -1)):
            b.ret()
        now = b.load("i32", _epoch(b, lanes, warp)) - 1
        me = (entry.site << 16) | ((warp.warp << 8) | COPIED)
        with b.lanes(mask) as lane:
            offset = b.load("i64", b.offset(entry.field("target"), b.resize(lane, "i64") * 8)) - warp.shared
            bytes_ = b.load("i32", b.offset(entry.field("bytes"), b.resize(lane, "i64") * 4))
            size = b.intrinsic("umax", entry.size, bytes_)
            with (
                b.if_(offset < warp.shared_size),  # not in another block of the cluster
                units_of(b, race, b.resize(offset, "i32"), size) as unit,
            ):
                slot = _entry(b, lanes, unit, WRITTEN)
                b.store(now, slot)
                b.store(me | lane, b.offset(slot, 4))


def _overwritten(m: IrModule) -> None:
    """gs_lanes_overwritten: a copy lands where lanes of its warp read that had not met since when it was started."""
    head = ("warp* warp", "copy* copy", "i32 lane", "i32 offset", "i32 size")
    with m.function("void", "gs_lanes_overwritten", *head) as (b, (warp, copy, lane, offset, size)):
        lanes, race = block_lanes(b, warp), warp.block.race
        with units_of(b, race, offset, size) as unit:
            entry = _entry(b, lanes, unit, READ)
            who, epoch = b.load("i32", b.offset(entry, 4)), b.load("i32", entry)
            other = who & (LANES - 1)
            ordered_until = b.intrinsic("umax", copy.met, _acquired_epoch(b, lanes, warp, lane, other))
            ours = ((who >> 8) & (LANES - 1)) == warp.warp
            apart = (other != lane) | ((who & SEVERAL) != 0)
            with b.if_(ours & apart & (epoch > ordered_until)):
                other_lane = b.select(other == lane, other ^ 1, other)
                where = unit << b.resize(race.shift, "i64")
                other_thread = (warp.warp << 8) | other_lane
                b.call("void", "gs_report", warp, i32(FAULT["race"]), copy.site, lane, who >> 16, other_thread, where)


def _same_warp(b: Builder, entry: Value, epoch: Value, who: Value, number: Value) -> Value:
    """An i1: the entry is of this warp and this epoch."""
    same = ((who >> 8) & (LANES - 1)) == number
    return (b.load("i32", entry) == epoch) & same


@dataclass(frozen=True, slots=True)
class _Context:
    """An access's kind, the warp that makes it, what its block and its lanes know of earlier ones, and the lanes'
    epoch; `passes` are the strengths of those that the access does not race with, `passes_others` those
    of other warps.
    """

    kind: str
    warp: Record
    race: Record
    lanes: Record
    epoch: Value
    passes: Value
    passes_others: Value


def _against(
    b: Builder, context: _Context, plane: int, site: Value, lane: Value, unit: Value, *, writes: bool
) -> None:  # fmt: skip
    warp, race, lanes = context.warp, context.race, context.lanes
    entry, suspect = _entry(b, lanes, unit, plane), b.alloca("i1")
    who = b.load("i32", b.offset(entry, 4))
    other = who & (LANES - 1)
    met, acquired = _met_epoch(b, lanes, warp, plane), _acquired_epoch(b, lanes, warp, lane, other)
    epoch, other_warp = b.load("i32", entry), (who >> 8) & (LANES - 1)
    ours = (who & (COPIED | ((LANES - 1) << 8))) == (warp.warp << 8)
    apart = (other != lane) | ((who & SEVERAL) != 0)
    among = (epoch > b.intrinsic("umax", met, acquired)) & apart & ours & ((who & context.passes) == 0)
    by_one_lane = (
        lane_orders.not_told(b, lanes, warp, lane, (other_warp, other, epoch))
        & ~ours
        & ((who & context.passes_others) == 0)
    )
    b.store(among, suspect)
    with b.if_(by_one_lane):
        # What is unordered between the warps is reported as that: only what their order hides is the lanes'.
        stamp = b.load("i32", plane_of(b, race, "written" if plane == WRITTEN else "read", unit))
        acquired = b.load("i32", b.offset(row_of(b, race, warp.warp), b.resize(other_warp, "i64") * 4))
        b.store(stamp <= acquired, suspect)
    if plane == WRITTEN:
        # Its own atomic is the last one noted: those before it, in the same epoch, it has heard of or not.
        with b.if_(among & (other == lane) & ((who & ATOMIC) != 0)):
            b.store(_unheard(b, lanes, warp, lane, epoch), suspect)
    with b.if_(b.load("i1", suspect)):
        where = unit << b.resize(race.shift, "i64")
        matters = constant("i1", True)
        if writes:
            old = b.offset(b.pointer(warp.shared), where)
            silent = b.call("i1", "gs_race_silent", race, lane, where, old, race.shift)
            matters = silent ^ matters
        if plane == WRITTEN and context.kind in ("load", "store"):
            volatile_atomic = ((context.passes & ATOMIC) != 0) & ((who & VOLATILE) != 0)
            matters &= ~(volatile_atomic & _polled(b, lanes, unit))
        with b.if_(matters):
            # Where the lane itself was the last of several readers, another one stands for them.
            other_lane = b.select(by_one_lane, other | SINGLE_LANE_WAIT, b.select(other == lane, other ^ 1, other))
            other_thread = (other_warp << 8) | other_lane
            other_site = who >> 16
            b.call("void", "gs_report", warp, i32(FAULT["race"]), site, lane, other_site, other_thread, where)


def _polled(b: Builder, lanes: Record, unit: Value) -> Value:
    """An i1: a lane has waited for what a unit holds. It is a flag: volatile accesses to it do not race."""
    entry = _entry(b, lanes, unit, READ)
    who, flags = b.load("i32", b.offset(entry, 4)), ATOMIC | VOLATILE
    begun = b.load("i32", lanes.field("begun", b.resize((who >> 8) & (LANES - 1), "i64")))
    return ((who & flags) == flags) & (b.load("i32", entry) > begun)


def _unheard(b: Builder, lanes: Record, warp: Record, lane: Value, epoch: Value) -> Value:
    """An i1: some other lane gave, up to an epoch, what a lane does not know of."""
    vector, number = wide("i32"), b.resize(warp.warp, "i64")
    released = b.load(vector, b.offset(lanes.field("given"), number * (4 * LANES)), align=4)
    acquired = b.load(vector, _row(b, lanes, warp, lane), align=4)
    met = b.splat(_met_epoch(b, lanes, warp, WRITTEN))
    unacquired = b.intrinsic("umin", released, b.splat(epoch)) > b.intrinsic("umax", acquired, met)
    other_lanes = b.bitcast(unacquired, "i32") & ~(i32(1) << lane)
    return other_lanes != 0


def _same_instruction(
    b: Builder, context: _Context, entry: Value, store: tuple[Value, Value, Value], address: Value, unit: Value
) -> None:
    """Lanes that one instruction has write to one place race where they write different values: any may stay."""
    warp, race = context.warp, context.race
    site, lane, mask = store
    who = b.load("i32", b.offset(entry, 4))
    other = who & (LANES - 1)
    now = _same_warp(b, entry, context.epoch, who, warp.warp)
    now &= (who >> 16) == site
    active = ((mask >> other) & 1) != 0
    where = unit << b.resize(race.shift, "i64")
    offset = where - b.resize(b.extract(address, other), "i64")
    overlaps = offset < b.resize(race.storing_bytes, "i64")
    distinct = (other != lane) & (race.values != NULL)
    with b.if_(now & active & (overlaps & distinct)):
        same = b.call("i1", "gs_same_value", race, lane, other)
        with b.if_(~same):
            other_thread = (warp.warp << 8) | other
            b.call("void", "gs_report", warp, i32(FAULT["race"]), site, lane, site, other_thread, where)


def _note(b: Builder, context: _Context, entry: Value, lane: Value, who: Value, kind: str) -> None:
    warp, lanes = context.warp, context.lanes
    if kind in ("load", "atomic"):
        plane = READ if kind == "load" else WRITTEN
        old, last_epoch = b.load("i32", b.offset(entry, 4)), b.load("i32", entry)
        other = old & (LANES - 1)
        ours = ((old >> 8) & (LANES - 1)) == warp.warp
        # Epochs go on with volatile accesses, too: what counts is whether this lane has heard of the one before it.
        acquired = b.intrinsic("umax", _met_epoch(b, lanes, warp, plane), _acquired_epoch(b, lanes, warp, lane, other))
        recent = ours & (last_epoch > acquired)
        several = (other != lane) | ((old & SEVERAL) != 0)
        atomic = (old & ATOMIC) != 0
        if kind == "load":  # a flag stays one when a volatile load reads it elsewhere
            who |= old & ((old >> 1) & (who >> 1) & ATOMIC)
        alike = recent & several & atomic if kind == "atomic" else recent & several
        who |= b.select(alike, i32(SEVERAL), i32(0))
        if kind == "atomic":
            # The lane's own plain write stays until all have met: it races with more.
            stays = (
                ours
                & (other == lane)
                & ((old & (ATOMIC | COPIED)) == 0)
                & (last_epoch > _met_epoch(b, lanes, warp, plane))
            )
            b.store(b.select(stays, last_epoch, context.epoch), entry)
            b.store(b.select(stays, old, who), b.offset(entry, 4))
            return
    b.store(context.epoch, entry)
    b.store(who, b.offset(entry, 4))
