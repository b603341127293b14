"""The race detector between the blocks of a cluster, for the observed build.

As shared_races.py, at a coarser grain: every block has a vector clock over the blocks of its cluster, and every unit of
the cluster's shared memory remembers its last write, its last atomic and its two last readers. What may order two
blocks (the cluster's barrier, an mbarrier: cluster_orders.py; an atomic, a fence) orders all that they did before:
order is never missed, so nothing is reported that is in order; a race may be missed.
"""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import OFFSET_MASK, RANK_SHIFT
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.hardware_limits import MOST_BLOCKS_IN_CLUSTER as MOST
from gridstride.virtual.abi.race_shadows import CLUSTER_PLANES, CLUSTER_RACE
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32, warp_numbered
from gridstride.virtual.runtime.sanitize.cluster_clocks import own_row, team_of, vector
from gridstride.virtual.runtime.schedule.cluster_blocks import block_at, cluster_of

_CONFLICTS = {
    "load": ("written", "changed"), "store": ("written", "changed", "read", "read_before"),
    "atomic": ("written", "read", "read_before"),
}  # fmt: skip
_WHO = {"written": "writer", "changed": "changer", "read": "reader", "read_before": "reader_before"}


def emit_cluster_races(m: IrModule) -> None:
    """gs_team_load, _store, _atomic, _copied, _end."""
    for kind in _CONFLICTS:
        _units(m, kind)
        _access(m, kind)
    _copied(m)
    _end(m)


# -- accesses ---------------------------------------------------------------------------------------------------------
def _plane(b: Builder, race: Record, name: str, unit: Value) -> Value:
    """32 pointers: each lane's unit in a plane."""
    size = b.resize(race.units, "i64")
    start = size * (4 * CLUSTER_PLANES.index(name))
    base = b.offset(b.offset(race, CLUSTER_RACE.size), start)
    return _at(b, base, unit)


def _at(b: Builder, base: Value, index: Value) -> Value:
    return b.define(f"<{LANES} x ptr>", f"getelementptr i32, ptr {base.name}, {index!r}")


def _gather(b: Builder, pointers: Value, mask: Value) -> Value:
    name = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0"
    return b.call(wide("i32"), name, pointers, i32(4), mask, constant(wide("i32"), 0))


def _scatter(b: Builder, value: Value, pointers: Value, mask: Value) -> None:
    b.call("void", f"llvm.masked.scatter.v{LANES}i32.v{LANES}p0", value, pointers, i32(4), mask)


def _splat(value: int) -> Value:
    return constant(wide("i32"), value)


def _party(b: Builder, who: Value) -> Value:
    return (who >> 10) & (MOST - 1)


def _units(m: IrModule, kind: str) -> None:
    """Checks one unit for each lane against what the block knows (`row`), then records it.

    `who`: site, rank, warp and lane in 16, 6, 5 and 5 bits.
    """
    head = ("warp* warp", "cluster_race* race", "i32 site", "i32 mask", f"{wide('i32')} unit", f"{wide('i32')} lane",
            "ptr row")  # fmt: skip
    with m.function("void", f"gs_team_units_{kind}", *head) as (b, (warp, race, site, mask, unit, lane, row)):
        _, rank = team_of(b, warp)
        bits = b.bitcast(mask, wide("i1"))
        own = b.splat(rank)
        for when in _CONFLICTS[kind]:
            stamps = _gather(b, _plane(b, race, when, unit), bits)
            who = _gather(b, _plane(b, race, _WHO[when], unit), bits)
            party = _party(b, who)
            acquired = _gather(b, _at(b, row, party), bits)
            late = (stamps > acquired) & (party != own)
            wrong = mask & b.bitcast(late, "i32")
            with b.if_(wrong != 0):
                b.call("void", "gs_team_race", warp, race, site, wrong, unit, lane, who)
        me = (site << 16) | (rank << 10)
        me |= warp.warp << 5
        who = b.splat(me) | lane
        clock = b.splat(b.extract(vector(b, row), rank))
        _record(b, kind, race, unit, bits, (own, clock, who))
        if kind != "load":
            b.call("void", "gs_unset_team", warp, race, mask, unit)
        _touch(b, warp, race, (site, mask, unit, lane, row), own, clock, who)
    if kind == "load":
        _race(m)
        _early(m)


def _record(
    b: Builder, kind: str, race: Record, unit: Value, bits: Value, stamp: tuple[Value, Value, Value]
) -> None:  # fmt: skip
    """Notes an access; `stamp` is the rank, its clock and who it was."""
    own, clock, who = stamp
    plane = {"load": "read", "store": "written", "atomic": "changed"}[kind]
    if kind == "load":
        last = _gather(b, _plane(b, race, "reader", unit), bits)
        moved = bits & (_party(b, last) != own)
        last_read = _gather(b, _plane(b, race, "read", unit), bits)
        _scatter(b, last_read, _plane(b, race, "read_before", unit), moved)
        _scatter(b, last, _plane(b, race, "reader_before", unit), moved)
    _scatter(b, clock, _plane(b, race, plane, unit), bits)
    _scatter(b, who, _plane(b, race, _WHO[plane], unit), bits)


def _touch(
    b: Builder, warp: Record, race: Record, access: tuple[Value, ...], own: Value, clock: Value, who: Value
) -> None:  # fmt: skip
    """When the block last used another block's memory: that one must not end before it knows of it."""
    site, mask, unit, lane, row = access
    owner = unit // b.splat(race.units_per_block)
    remote = b.bitcast(mask, wide("i1")) & (owner != own)
    with b.if_(b.bitcast(remote, "i32") != 0):
        index = owner * _splat(MOST) + own
        _scatter(b, clock, _at(b, race.field("touched"), index), remote)
        _scatter(b, who, _at(b, race.field("toucher"), index), remote)
        acquired = _gather(b, _at(b, row, owner), remote)
        early = acquired <= b.splat(race.start)
        wrong = b.bitcast(remote & early, "i32")
        with b.if_(wrong != 0):
            b.call("void", "gs_team_early", warp, race, site, wrong, owner, lane)


def _race(m: IrModule) -> None:
    """Reports the first lane's race: its unit's block and offset, and the other block, are in the address."""
    head = ("warp* warp", "cluster_race* race", "i32 site", "i32 wrong", f"{wide('i32')} unit", f"{wide('i32')} lane",
            f"{wide('i32')} who")  # fmt: skip
    with m.function("void", "gs_team_race", *head, cold=True) as (b, (warp, race, site, wrong, unit, lane, who)):
        first = b.call("i32", "llvm.cttz.i32", wrong, constant("i1", True))
        own_unit, other = b.extract(unit, first), b.extract(who, first)
        units_each = race.units_per_block
        owner = b.resize(own_unit // units_each, "i64")
        shift = b.resize(race.shift, "i64")
        offset = b.resize(own_unit % units_each, "i64") << shift
        address = offset | ((owner + 1) << RANK_SHIFT)
        address |= _other(b, other)
        other_site, other_thread = other >> 16, _thread(b, other)
        kind = i32(FAULT["race"])
        b.call("void", "gs_report", warp, kind, site, b.extract(lane, first), other_site, other_thread, address)


def _early(m: IrModule) -> None:
    """Reports, once for each block, that it has not heard of a block whose memory it uses: that may not have begun."""
    head = ("warp* warp", "cluster_race* race", "i32 site", "i32 wrong", f"{wide('i32')} owner", f"{wide('i32')} lane")
    with m.function("void", "gs_team_early", *head, cold=True) as (b, (warp, race, site, wrong, owner, lane)):
        _, rank = team_of(b, warp)
        reported, mine = race.reported, 1 << rank
        with b.if_((reported & mine) != 0):
            b.ret()
        race.reported = reported | mine
        first = b.call("i32", "llvm.cttz.i32", wrong, constant("i1", True))
        number = b.resize(b.extract(owner, first), "i64") + 1
        address, kind = number << RANK_SHIFT, i32(FAULT["unstarted_block"])
        b.call("void", "gs_report", warp, kind, site, b.extract(lane, first), site, i32(0), address)


def _other(b: Builder, who: Value) -> Value:
    """The rank in a `who`, plus 1, where findings have it."""
    rank = b.resize(_party(b, who), "i64") + 1
    return rank << 32


def _thread(b: Builder, who: Value) -> Value:
    """Warp and lane in a `who` as findings have them."""
    warp = (who >> 5) & (LANES - 1)
    return (warp << 8) | (who & (LANES - 1))


_LANES = vector_constant("i32", range(LANES))


def _access(m: IrModule, kind: str) -> None:
    """An access to generic addresses: of those in the cluster's shared memory, every unit."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", f"gs_team_{kind}", *head) as (b, (warp, site, mask, address, size)):
        race, rank = team_of(b, warp)
        with b.if_(~(race != NULL)):
            b.ret()
        row = own_row(b, race, rank)
        inside, unit = _unit(b, warp, race, address, size)
        local_lanes, at = mask & b.bitcast(inside, "i32"), b.alloca("i32")
        with b.if_(local_lanes == 0):
            b.ret()
        count = size >> race.shift
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(j >= count, done)
            b.store(j + 1, at)
            element = unit + b.splat(j)
            b.call("void", f"gs_team_units_{kind}", warp, race, site, local_lanes, element, _LANES, row)


def _unit(b: Builder, warp: Record, race: Record, address: Value, size: Value) -> tuple[Value, Value]:
    """Which addresses are in the cluster's shared memory, and their units."""
    cluster = cluster_of(b, warp)
    distance = address - b.splat(cluster.shared)
    rank = distance >> RANK_SHIFT
    offset = distance & OFFSET_MASK
    end = offset + b.splat(b.resize(size, "i64"))
    members = b.splat(b.resize(cluster.size, "i64"))
    inside = rank < members
    inside &= end <= b.splat(warp.shared_size)
    shift, units_each = (b.splat(b.get(race, CLUSTER_RACE, n)) for n in ("shift", "units_per_block"))
    unit = b.resize(offset, "i32") >> shift
    return inside, b.resize(rank, "i32") * units_each + unit


def _copied(m: IrModule) -> None:
    """What a bulk copy has read (0), written (1) or reduced (2), as an access of the thread that started it."""
    head = ("warp* warp", "i32 site", "i32 lane", "i64 address", "i32 bytes", "i32 kind", "ptr known")
    with m.function("void", "gs_team_copied", *head) as (b, (warp, site, lane, address, bytes_, what, known_clock)):
        with b.if_(~(cluster_of(b, warp) != NULL)):
            b.ret()
        race, _ = team_of(b, warp)
        with b.if_(~(race != NULL)):
            b.ret()
        inside, units = _unit(b, warp, race, b.splat(address), bytes_)
        with b.if_(~b.extract(inside, 0)):
            b.ret()
        first, at = b.extract(units, 0), b.alloca("i32")
        count = bytes_ >> race.shift
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(j >= count, done)
            b.store(j + LANES, at)
            index = b.splat(j) + _LANES
            mask = b.bitcast(index < b.splat(count), "i32")
            unit = b.splat(first) + index
            for number, kind in enumerate(_CONFLICTS):
                with b.if_(what == number):
                    b.call("void", f"gs_team_units_{kind}", warp, race, site, mask, unit, b.splat(lane), known_clock)


# -- the end of a block -----------------------------------------------------------------------------------------------
def _end(m: IrModule) -> None:
    """A block has ended: who used its memory, and has not told it so, may come too late on another day."""
    with m.function("void", "gs_team_end", "cluster* cluster", "i32 rank") as (b, (cluster, rank)):
        race = cluster.race
        with b.if_(~(race != NULL)):
            b.ret()
        start = b.resize(rank, "i64") * (4 * MOST)
        touched = vector(b, b.offset(race.field("touched"), start))
        late = touched > vector(b, own_row(b, race, rank))
        wrong = b.resize(b.bitcast(late, f"i{MOST}"), "i32")
        with b.lanes(wrong) as other:
            where = start + b.resize(other, "i64") * 4
            who = b.load("i32", b.offset(race.field("toucher"), where))
            thread = _thread(b, who)
            warp = warp_numbered(b, block_at(b, cluster, other), thread >> 8)
            lane, site = thread & 255, who >> 16
            owner = b.resize(rank + 1, "i64") << RANK_SHIFT
            kind = i32(FAULT["exited_block"])
            b.call("void", "gs_report", warp, kind, site, lane, site, i32(0), owner)
