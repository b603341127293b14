"""What an asynchronous copy overwrites: who reads there must have been through when it was started, not when it lands.

A copy lands when somebody waits for it, and its warp has learnt of others' reads by then: a ring of stages whose
"empty" barrier is arrived at ahead of the reads would pass. So each copy keeps what its warp knew at its start.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
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
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.clocks import row_of
from gridstride.virtual.runtime.sanitize.shared_races import LaneAccess, against, plane_of, warp_of

_TYPE = wide("i32")
_READS = (("read", "reader"), ("read_before", "reader_before"))


def emit_copy_races(m: IrModule) -> None:
    """gs_race_started: a copy keeps its warp's row; gs_race_overwrites: it lands on `size` bytes of shared memory."""
    with m.function("void", "gs_race_started", "warp* warp", "copy* copy") as (b, (warp, copy)):
        race = warp.block.race
        with b.if_(race != NULL):
            b.store(b.load(_TYPE, row_of(b, race, warp.warp), align=4), copy.field("row"), align=4)
        lanes = warp.block.lanes
        with b.if_(lanes != NULL):
            copy.met = b.load("i32", lanes.field("gathered", b.resize(warp.warp, "i64")))
    head = ("warp* warp", "copy* copy", "i32 lane", "i32 offset", "i32 size")
    with m.function("void", "gs_race_overwrites", *head) as (b, (warp, copy, lane, offset, size)):
        race = warp.block.race
        with b.if_(race == NULL):
            b.ret()
        b.call("void", "gs_lanes_overwritten", warp, copy, lane, offset, size)
        shift, at = race.shift, b.alloca("i32")
        end = b.intrinsic("umin", (offset + (size + ((i32(1) << shift) - 1))) >> shift, race.words)
        b.store(offset >> shift, at)
        with b.loop() as done:
            first = b.load("i32", at)
            b.break_if(first >= end, done)
            b.store(first + LANES, at)
            late = _late(b, race, warp.warp, copy.field("row"), first, end)
            access = LaneAccess(warp, race, copy.field("row"), warp.warp, copy.site, lane, shift)
            with b.lanes(late) as index:
                for when, who in _READS:
                    against(b, access, b.resize(first + index, "i64"), when, who)


def _late(b: Builder, race: Record, own: Value, row: Value, first: Value, end: Value) -> Value:
    """A bit for each of the 32 units that another warp read later than the row says."""
    numbers = vector_constant("i32", range(LANES))
    inside, late = b.splat(first) + numbers < b.splat(end), constant(wide("i1"), 0)

    def gather(start: Value, index: Value) -> Value:
        pointers = b.define(wide("ptr"), f"getelementptr i32, ptr {start.name}, {index!r}")
        return b.call(
            _TYPE, f"llvm.masked.gather.{suffix(_TYPE)}.v{LANES}p0", pointers, i32(4), inside, constant(_TYPE, 0)
        )

    for when, who in _READS:
        starts = (plane_of(b, race, name, b.resize(first, "i64")) for name in (when, who))
        stamps, parties = (gather(start, numbers) for start in starts)
        reader = warp_of(b, parties)
        late |= (stamps > gather(row, reader)) & (reader != b.splat(own))
    return b.bitcast(late & inside, "i32")
