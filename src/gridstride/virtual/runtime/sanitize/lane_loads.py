"""Plain loads of a warp from shared memory, all lanes at once: which must be looked at one by one, and who has read.

Nearly all of them read what was written before the last barrier. Looked at lane by lane they were half of the time
that a kernel with tiles in shared memory takes under the sanitizer.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import LANE_SHADOW, SEVERAL
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant, suffix, vector_constant, wide
from gridstride.virtual.runtime.common import i32

_NUMBERS, _ENTRIES, _BITS = wide("i32"), wide("i64"), wide("i1")
_WHO = 32  # bit of an entry from where on it says who
_UNUSUAL = 0xFFFF & ~(((LANES - 1) << 8) | (LANES - 1))  # all but site, warp and lane: a plain access leaves them 0


def emit_lane_loads(m: IrModule) -> None:
    """gs_lanes_note_loads: lanes of a mask load `size` bytes each; notes it, and gives those lanes to which a unit may
    have been written by somebody whom they have not met since.
    """
    head = ("warp* warp", "i32 site", "i32 mask", f"{_NUMBERS} address", "i32 size")
    with m.function("i32", "gs_lanes_note_loads", *head) as (b, (warp, site, mask, address, size)):
        lanes, race = warp.block.lanes, warp.block.race
        shift, number = b.splat(race.shift), b.resize(warp.warp, "i64")
        epoch = b.load("i32", lanes.field("epoch", number))
        met, gathered = (b.splat(b.load("i32", lanes.field(name, number))) for name in ("met", "gathered"))
        aware = b.load("i32", lanes.field("knowing", number)) == -1
        me = b.splat((site << 16) | (warp.warp << 8)) | vector_constant("i32", range(LANES))
        last = b.intrinsic("umin", (address + b.splat(size - 1)) >> shift, b.splat(race.words - 1))
        at, suspects = b.alloca(_NUMBERS, align=64), b.alloca("i32")
        b.store(address >> shift, at)
        b.store(b.select(aware, i32(0), mask), suspects)
        with b.loop() as done:
            units = b.load(_NUMBERS, at)
            inside = b.bitcast(mask, _BITS) & (units <= last)
            b.break_if(b.bitcast(inside, "i32") == 0, done)
            b.store(units + b.splat(i32(1)), at)
            offsets = b.resize(units, "i64") << 4
            ordered = _is_ordered(b, lanes, warp, _load(b, _entry_pointers(b, lanes, offsets), inside), met, inside)
            b.store(b.load("i32", suspects) | b.bitcast(inside & ~ordered, "i32"), suspects)
            _note(b, lanes, (epoch, me), (_entry_pointers(b, lanes, offsets | 8), inside), (warp.warp, gathered))
        b.ret(b.load("i32", suspects) & mask)


def _is_ordered(
    b: Builder, lanes: Record, warp: Record, entries: Value, met: Value, inside: Value
) -> Value:  # fmt: skip
    """An i1 for each lane: what its unit holds was written before its warp last met, by itself, or by a lane of another
    warp that has released it.
    """
    epoch, who = b.resize(entries, "i32"), b.resize(entries >> _WHO, "i32")
    lane, other_warps = who & (LANES - 1), (who >> 8) & (LANES - 1)
    ours = other_warps == b.splat(warp.warp)
    released = _gathered(b, lanes.field("released"), (other_warps << 5) | lane, inside & ~ours)
    own = ours & (lane == vector_constant("i32", range(LANES)))
    return ((epoch <= b.select(ours, met, released)) | own) & ((who & _UNUSUAL) == 0)


def _note(
    b: Builder, lanes: Record, me: tuple[Value, Value], masked_pointers: tuple[Value, Value], warp: tuple[Value, Value]
) -> None:  # fmt: skip
    """Writes down who reads, beside it that others of the warp have since they last came together."""
    (epoch, who), (at, inside), (number, gathered) = me, masked_pointers, warp
    lane, written = vector_constant("i32", range(LANES)), b.alloca(_NUMBERS, align=64)
    entries = _load(b, at, inside)
    last_epoch, old = b.resize(entries, "i32"), b.resize(entries >> _WHO, "i32")
    other = old & (LANES - 1)
    several = (other != lane) | ((old & SEVERAL) != 0)
    recent = inside & several & (((old >> 8) & (LANES - 1)) == b.splat(number)) & (last_epoch > gathered)
    b.store(who, written)
    with b.if_(b.bitcast(recent, "i32") != 0):
        row = b.splat(number << 10) | vector_constant("i32", range(0, LANES * LANES, LANES)) | other
        unknown = recent & (last_epoch > _gathered(b, lanes.field("known"), row, recent))
        b.store(b.select(unknown, who | SEVERAL, who), written)
    _store(b, at, inside, epoch, b.load(_NUMBERS, written))
    last = b.resize(_load(b, at, inside) >> _WHO, "i32")
    crowd = inside & ((last & (LANES - 1)) != lane)
    with b.if_(b.bitcast(crowd, "i32") != 0):
        _store(b, at, crowd, epoch, last | SEVERAL)


def _entry_pointers(b: Builder, lanes: Record, offsets: Value) -> Value:
    return b.define(wide("ptr"), f"getelementptr i8, ptr {b.offset(lanes, LANE_SHADOW.size).name}, {offsets!r}")


def _load(b: Builder, at: Value, some: Value) -> Value:
    name = f"llvm.masked.gather.{suffix(_ENTRIES)}.v{LANES}p0"
    return b.call(_ENTRIES, name, at, i32(8), some, constant(_ENTRIES, 0))


def _store(b: Builder, at: Value, some: Value, epoch: Value, who: Value) -> None:
    value = (b.resize(who, "i64") << _WHO) | b.splat(b.resize(epoch, "i64"))
    b.call("void", f"llvm.masked.scatter.{suffix(_ENTRIES)}.v{LANES}p0", value, at, i32(8), some)


def _gathered(b: Builder, start: Value, index: Value, some: Value) -> Value:
    """Numbers of a table, 0 for the other lanes."""
    at = b.define(wide("ptr"), f"getelementptr i32, ptr {start.name}, {index!r}")
    name = f"llvm.masked.gather.{suffix(_NUMBERS)}.v{LANES}p0"
    return b.call(_NUMBERS, name, at, i32(4), some, constant(_NUMBERS, 0))
