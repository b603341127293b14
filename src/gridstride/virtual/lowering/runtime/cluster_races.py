"""The race detector between the blocks of a cluster, for the observed build.

As races.py, at a coarser grain: every block has a vector clock over the blocks of its cluster, and every unit of the
cluster's shared memory remembers its last write, its last atomic and its two last readers. What may order two blocks
(the cluster's barrier, an mbarrier: cluster_orders.py; an atomic, a fence) orders all that they did before: order is
never missed, so nothing is reported that is in order; a race may be missed.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.cluster_clocks import own_row, team_of, vector
from gridstride.virtual.lowering.runtime.cluster_memory import OFFSET
from gridstride.virtual.lowering.runtime.clusters import block_at, cluster_of, inverted, present
from gridstride.virtual.lowering.runtime.common import i32, i64, warp_numbered
from gridstride.virtual.machine.layout import (
    CLUSTER,
    CLUSTER_PLANES,
    CLUSTER_RACE,
    FAULT,
    LANES,
    RANK_SHIFT,
    WARP,
)
from gridstride.virtual.machine.layout import MOST_BLOCKS_IN_CLUSTER as MOST

_CONFLICTS = {
    "load": ("written", "changed"), "store": ("written", "changed", "read", "read_before"),
    "atomic": ("written", "read", "read_before"),
}  # fmt: skip
_WHO = {"written": "writer", "changed": "changer", "read": "reader", "read_before": "reader_before"}


def emit_cluster_races(m: Module) -> None:
    """gs_team_load, _store, _atomic, _copied, _end."""
    for kind in _CONFLICTS:
        _units(m, kind)
        _access(m, kind)
    _copied(m)
    _end(m)


# -- accesses ---------------------------------------------------------------------------------------------------------
def _plane(b: Builder, race: Value, name: str, unit: Value) -> Value:
    """32 pointers: each lane's unit in a plane."""
    size = b.resize(b.get(race, CLUSTER_RACE, "units"), "i64")
    start = b.op("mul", size, i64(4 * CLUSTER_PLANES.index(name)))
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
    return b.op("and", b.op("lshr", who, constant(who.type, 10)), constant(who.type, MOST - 1))


def _units(m: Module, kind: str) -> None:
    """Checks one unit for each lane against what the block knows (`row`), then records it.

    `who`: site, rank, warp and lane in 16, 6, 5 and 5 bits.
    """
    head = ("ptr warp", "ptr race", "i32 site", "i32 mask", f"{wide('i32')} unit", f"{wide('i32')} lane",
            "ptr row")  # fmt: skip
    with m.function("void", f"gs_team_units_{kind}", *head) as (b, (warp, race, site, mask, unit, lane, row)):
        _, rank = team_of(b, warp)
        bits = b.bitcast(mask, wide("i1"))
        own = b.splat(rank)
        for when in _CONFLICTS[kind]:
            then = _gather(b, _plane(b, race, when, unit), bits)
            who = _gather(b, _plane(b, race, _WHO[when], unit), bits)
            party = _party(b, who)
            known = _gather(b, _at(b, row, party), bits)
            late = b.op("and", b.compare("ugt", then, known), b.compare("ne", party, own))
            wrong = b.op("and", mask, b.bitcast(late, "i32"))
            with b.if_(b.compare("ne", wrong, i32(0))):
                b.call("void", "gs_team_race", warp, race, site, wrong, unit, lane, who)
        me = b.op("or", b.op("shl", site, i32(16)), b.op("shl", rank, i32(10)))
        me = b.op("or", me, b.op("shl", b.get(warp, WARP, "warp"), i32(5)))
        who = b.op("or", b.splat(me), lane)
        clock = b.splat(b.extract(vector(b, row), rank))
        _record(b, kind, race, unit, bits, own, clock, who)
        if kind != "load":
            b.call("void", "gs_unset_team", warp, race, mask, unit)
        _touch(b, warp, race, (site, mask, unit, lane, row), own, clock, who)
    if kind == "load":
        _race(m)
        _early(m)


def _record(b: Builder, kind: str, race: Value, unit: Value, bits: Value, own: Value, clock: Value, who: Value) -> None:
    plane = {"load": "read", "store": "written", "atomic": "changed"}[kind]
    if kind == "load":
        last = _gather(b, _plane(b, race, "reader", unit), bits)
        moved = b.op("and", bits, b.compare("ne", _party(b, last), own))
        before = _gather(b, _plane(b, race, "read", unit), bits)
        _scatter(b, before, _plane(b, race, "read_before", unit), moved)
        _scatter(b, last, _plane(b, race, "reader_before", unit), moved)
    _scatter(b, clock, _plane(b, race, plane, unit), bits)
    _scatter(b, who, _plane(b, race, _WHO[plane], unit), bits)


def _touch(
    b: Builder, warp: Value, race: Value, access: tuple[Value, ...], own: Value, clock: Value, who: Value
) -> None:  # fmt: skip
    """When the block last used another block's memory: that one must not end before it knows of it."""
    site, mask, unit, lane, row = access
    owner = b.op("udiv", unit, b.splat(b.get(race, CLUSTER_RACE, "each")))
    remote = b.op("and", b.bitcast(mask, wide("i1")), b.compare("ne", owner, own))
    with b.if_(b.compare("ne", b.bitcast(remote, "i32"), i32(0))):
        index = b.op("add", b.op("mul", owner, _splat(MOST)), own)
        _scatter(b, clock, _at(b, b.field(race, CLUSTER_RACE, "touched"), index), remote)
        _scatter(b, who, _at(b, b.field(race, CLUSTER_RACE, "toucher"), index), remote)
        known = _gather(b, _at(b, row, owner), remote)
        early = b.compare("ule", known, b.splat(b.get(race, CLUSTER_RACE, "start")))
        wrong = b.bitcast(b.op("and", remote, early), "i32")
        with b.if_(b.compare("ne", wrong, i32(0))):
            b.call("void", "gs_team_early", warp, race, site, wrong, owner, lane)


def _race(m: Module) -> None:
    """Reports the first lane's race: its unit's block and offset, and the other block, are in the address."""
    head = ("ptr warp", "ptr race", "i32 site", "i32 wrong", f"{wide('i32')} unit", f"{wide('i32')} lane",
            f"{wide('i32')} who")  # fmt: skip
    with m.function("void", "gs_team_race", *head, cold=True) as (b, (warp, race, site, wrong, unit, lane, who)):
        first = b.call("i32", "llvm.cttz.i32", wrong, constant("i1", True))
        place, other = b.extract(unit, first), b.extract(who, first)
        each = b.get(race, CLUSTER_RACE, "each")
        owner = b.resize(b.op("udiv", place, each), "i64")
        shift = b.resize(b.get(race, CLUSTER_RACE, "shift"), "i64")
        offset = b.op("shl", b.resize(b.op("urem", place, each), "i64"), shift)
        address = b.op("or", offset, b.op("shl", b.op("add", owner, i64(1)), i64(RANK_SHIFT)))
        address = b.op("or", address, _other(b, other))
        there, them = b.op("lshr", other, i32(16)), _thread(b, other)
        kind = i32(FAULT["race"])
        b.call("void", "gs_report", warp, kind, site, b.extract(lane, first), there, them, address)


def _early(m: Module) -> None:
    """Reports, once for each block, that it has not heard of a block whose memory it uses: that may not have begun."""
    head = ("ptr warp", "ptr race", "i32 site", "i32 wrong", f"{wide('i32')} owner", f"{wide('i32')} lane")
    with m.function("void", "gs_team_early", *head, cold=True) as (b, (warp, race, site, wrong, owner, lane)):
        _, rank = team_of(b, warp)
        told, mine = b.get(race, CLUSTER_RACE, "told"), b.op("shl", i32(1), rank)
        with b.if_(b.compare("ne", b.op("and", told, mine), i32(0))):
            b.ret()
        b.put(race, CLUSTER_RACE, "told", b.op("or", told, mine))
        first = b.call("i32", "llvm.cttz.i32", wrong, constant("i1", True))
        number = b.op("add", b.resize(b.extract(owner, first), "i64"), i64(1))
        address, kind = b.op("shl", number, i64(RANK_SHIFT)), i32(FAULT["unstarted_block"])
        b.call("void", "gs_report", warp, kind, site, b.extract(lane, first), site, i32(0), address)


def _other(b: Builder, who: Value) -> Value:
    """The rank in a `who`, plus 1, where findings have it."""
    rank = b.op("add", b.resize(_party(b, who), "i64"), i64(1))
    return b.op("shl", rank, i64(32))


def _thread(b: Builder, who: Value) -> Value:
    """Warp and lane in a `who` as findings have them."""
    warp = b.op("and", b.op("lshr", who, i32(5)), i32(LANES - 1))
    return b.op("or", b.op("shl", warp, i32(8)), b.op("and", who, i32(LANES - 1)))


_LANES = vector_constant("i32", range(LANES))


def _access(m: Module, kind: str) -> None:
    """An access to generic addresses: of those in the cluster's shared memory, every unit."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", f"gs_team_{kind}", *head) as (b, (warp, site, mask, address, size)):
        race, rank = team_of(b, warp)
        with b.if_(inverted(b, present(b, race))):
            b.ret()
        row = own_row(b, race, rank)
        inside, unit = _unit(b, warp, race, address, size)
        here, at = b.op("and", mask, b.bitcast(inside, "i32")), b.alloca("i32")
        with b.if_(b.compare("eq", here, i32(0))):
            b.ret()
        each = b.op("lshr", size, b.get(race, CLUSTER_RACE, "shift"))
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(b.compare("uge", j, each), done)
            b.store(b.op("add", j, i32(1)), at)
            one = b.op("add", unit, b.splat(j))
            b.call("void", f"gs_team_units_{kind}", warp, race, site, here, one, _LANES, row)


def _unit(b: Builder, warp: Value, race: Value, address: Value, size: Value) -> tuple[Value, Value]:
    """Which addresses are in the cluster's shared memory, and their units."""
    cluster = cluster_of(b, warp)
    distance = b.op("sub", address, b.splat(b.get(cluster, CLUSTER, "shared")))
    rank = b.op("lshr", distance, constant(distance.type, RANK_SHIFT))
    offset = b.op("and", distance, constant(distance.type, OFFSET))
    end = b.op("add", offset, b.splat(b.resize(size, "i64")))
    members = b.splat(b.resize(b.get(cluster, CLUSTER, "size"), "i64"))
    inside = b.compare("ult", rank, members)
    inside = b.op("and", inside, b.compare("ule", end, b.splat(b.get(warp, WARP, "shared_size"))))
    shift, each = (b.splat(b.get(race, CLUSTER_RACE, n)) for n in ("shift", "each"))
    unit = b.op("lshr", b.resize(offset, "i32"), shift)
    return inside, b.op("add", b.op("mul", b.resize(rank, "i32"), each), unit)


def _copied(m: Module) -> None:
    """What a bulk copy has read (0), written (1) or reduced (2), as an access of the thread that started it."""
    head = ("ptr warp", "i32 site", "i32 lane", "i64 address", "i32 bytes", "i32 kind", "ptr known")
    with m.function("void", "gs_team_copied", *head) as (b, (warp, site, lane, address, bytes_, what, known)):
        with b.if_(inverted(b, present(b, cluster_of(b, warp)))):
            b.ret()
        race, _ = team_of(b, warp)
        with b.if_(inverted(b, present(b, race))):
            b.ret()
        inside, units = _unit(b, warp, race, b.splat(address), bytes_)
        with b.if_(inverted(b, b.extract(inside, 0))):
            b.ret()
        first, at = b.extract(units, 0), b.alloca("i32")
        count = b.op("lshr", bytes_, b.get(race, CLUSTER_RACE, "shift"))
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(b.compare("uge", j, count), done)
            b.store(b.op("add", j, i32(LANES)), at)
            ahead = b.op("add", b.splat(j), _LANES)
            mask = b.bitcast(b.compare("ult", ahead, b.splat(count)), "i32")
            unit = b.op("add", b.splat(first), ahead)
            for number, kind in enumerate(_CONFLICTS):
                with b.if_(b.compare("eq", what, i32(number))):
                    b.call("void", f"gs_team_units_{kind}", warp, race, site, mask, unit, b.splat(lane), known)


# -- the end of a block -----------------------------------------------------------------------------------------------
def _end(m: Module) -> None:
    """A block has ended: who used its memory, and has not told it so, may come too late on another day."""
    with m.function("void", "gs_team_end", "ptr cluster", "i32 rank") as (b, (cluster, rank)):
        race = b.get(cluster, CLUSTER, "race")
        with b.if_(inverted(b, present(b, race))):
            b.ret()
        start = b.op("mul", b.resize(rank, "i64"), i64(4 * MOST))
        touched = vector(b, b.offset(b.field(race, CLUSTER_RACE, "touched"), start))
        late = b.compare("ugt", touched, vector(b, own_row(b, race, rank)))
        wrong = b.resize(b.bitcast(late, f"i{MOST}"), "i32")
        with b.lanes(wrong) as other:
            where = b.op("add", start, b.op("mul", b.resize(other, "i64"), i64(4)))
            who = b.load("i32", b.offset(b.field(race, CLUSTER_RACE, "toucher"), where))
            thread = _thread(b, who)
            warp = warp_numbered(b, block_at(b, cluster, other), b.op("lshr", thread, i32(8)))
            lane, site = b.op("and", thread, i32(255)), b.op("lshr", who, i32(16))
            owner = b.op("shl", b.resize(b.op("add", rank, i32(1)), "i64"), i64(RANK_SHIFT))
            kind = i32(FAULT["exited_block"])
            b.call("void", "gs_report", warp, kind, site, lane, site, i32(0), owner)
