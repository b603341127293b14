"""The race detector for global memory: every unit remembers its last write, its last read and one from another block.

An access is looked at by half-warps: lanes side by side, lanes at one place, or each lane's units where they are. What
is done with the units is in runtime/global_units.py.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.global_units import HALF, RECORDS, STAMPS, emit_global_units
from gridstride.virtual.lowering.runtime.stamps import entry
from gridstride.virtual.machine.layout import BLOCK, RACE, SHADOW, WARP

_NULL = Value("null", "ptr")


def emit_global_races(m: Module) -> None:
    """gs_global_load and gs_global_store for accesses, gs_global_range_* for asynchronous copies."""
    for kind in ("load", "store"):
        _access(m, kind)
        _range(m, kind)
    emit_global_units(m)


# -- from accesses to units -------------------------------------------------------------------------------------------
def _access(m: Module, kind: str) -> None:
    """Looks at `size` bytes for each active lane, at addresses in global memory or anywhere else."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i64')} address", "i32 size", "i32 strength")
    with m.function("void", f"gs_global_{kind}", *head) as (b, (warp, site, mask, address, size, strength)):
        race, shadow, shift, me = _opening(b, warp, site, strength)
        each, bytes_ = b.op("lshr", size, shift), b.resize(size, "i64")
        start, units = b.get(shadow, SHADOW, "start"), b.get(shadow, SHADOW, "units")
        for half in range(2):
            if half and kind == "load":  # halves that read the same, as two rows of a 16-wide tile do, read it once
                low, high = (b.shuffle(address, [HALF * h + i for i in range(HALF)]) for h in range(2))
                with b.if_(b.op("and", b.compare("eq", mask, i32(-1)), _same(b, low, high))):
                    b.ret()
            part = b.resize(b.op("lshr", mask, i32(HALF * half)), "i16")
            some, over = b.new_label("some"), b.new_label("over")
            b.branch(b.compare("ne", part, constant("i16", 0)), some, over)
            b.start(some)
            own = b.shuffle(address, [HALF * half + i for i in range(HALF)])
            first = b.extract(own, 0)
            distance = b.op("sub", own, b.splat(first, HALF))
            whole = b.compare("eq", part, constant("i16", -1))
            wanted = b.op("mul", vector_constant("i64", range(HALF)), b.splat(bytes_, HALF))
            run = b.op("and", whole, _same(b, distance, wanted))
            at = b.op("lshr", b.op("sub", first, start), b.resize(shift, "i64"))
            end = b.op("add", at, b.resize(b.op("mul", each, i32(HALF)), "i64"))
            inside = b.op("and", b.compare("ule", end, units), b.compare("uge", first, start))
            together, apart = b.new_label("run"), b.new_label("apart")
            b.branch(b.op("and", run, inside), together, apart)
            b.start(together)
            _rows_of_units(b, kind, warp, race, shadow, at, each, me, half)
            b.jump(over)
            b.start(apart)
            alike, several = b.new_label("alike"), b.new_label("several")
            b.branch(b.op("and", inside, b.op("and", whole, _same(b, distance, constant(RECORDS, 0)))), alike, several)
            b.start(alike)
            _one_place(b, kind, warp, race, shadow, at, each, b.op("or", me, i64(HALF * half)))
            b.jump(over)
            b.start(several)
            _columns_of_units(b, kind, warp, race, shadow, own, part, each, me, half)
            b.jump(over)
            b.start(over)


def _opening(b: Builder, warp: Value, site: Value, strength: Value) -> tuple[Value, Value, Value, Value]:
    """The block's record, the shadow, its shift and what an entry of this access says; returns where there is none."""
    race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
    with b.if_(b.compare("eq", race, _NULL)):
        b.ret()
    shadow = b.get(race, RACE, "shadow")
    with b.if_(b.compare("eq", b.get(shadow, SHADOW, "written"), _NULL)):
        b.ret()
    own = b.get(warp, WARP, "warp")
    stamp = b.load("i32", entry(b, b.field(race, RACE, "current"), own))
    low = b.op("or", b.op("shl", site, i32(8)), b.op("shl", strength, i32(5)))
    me = b.op("or", b.op("shl", b.resize(stamp, "i64"), i64(32)), b.resize(low, "i64"))
    return race, shadow, b.get(shadow, SHADOW, "shift"), me


def _same(b: Builder, distance: Value, wanted: Value) -> Value:
    equal = b.compare("eq", distance, wanted)
    return b.compare("eq", b.bitcast(equal, f"i{HALF}"), constant(f"i{HALF}", -1))


def _rows_of_units(
    b: Builder, kind: str, warp: Value, race: Value, shadow: Value, first: Value, each: Value, me: Value, half: int
) -> None:
    """Units in a row, `each` of them a lane's."""
    at, fold = b.alloca("i32"), b.call("i32", "llvm.cttz.i32", each, constant("i1", True))
    total = b.op("mul", each, i32(HALF))
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(b.compare("uge", j, total), done)
        b.store(b.op("add", j, i32(HALF)), at)
        number = b.op("add", vector_constant("i32", range(HALF)), b.splat(j, HALF))
        lanes = b.op("add", b.op("lshr", number, b.splat(fold, HALF)), constant(STAMPS, HALF * half))
        entries = b.op("or", b.splat(me, HALF), b.resize(lanes, "i64"))
        b.call("void", f"gs_global_run_{kind}", warp, race, shadow, b.op("add", first, b.resize(j, "i64")), entries)


def _one_place(
    b: Builder, kind: str, warp: Value, race: Value, shadow: Value, first: Value, each: Value, entry_: Value
) -> None:
    """The units of lanes that all name the same."""
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(b.compare("uge", j, each), done)
        b.store(b.op("add", j, i32(1)), at)
        b.call("void", f"gs_global_one_{kind}", warp, race, shadow, b.op("add", first, b.resize(j, "i64")), entry_)


def _columns_of_units(
    b: Builder, kind: str, warp: Value, race: Value, shadow: Value, address: Value, mask: Value, each: Value, me: Value,
    half: int,
) -> None:  # fmt: skip
    """Each active lane's units, wherever they are; lanes outside of global memory have none."""
    shift = b.splat(b.resize(b.get(shadow, SHADOW, "shift"), "i64"), HALF)
    unit = b.op("lshr", b.op("sub", address, b.splat(b.get(shadow, SHADOW, "start"), HALF)), shift)
    inside = b.compare("ult", unit, b.splat(b.get(shadow, SHADOW, "units"), HALF))
    mask = b.op("and", mask, b.bitcast(inside, "i16"))
    entries = b.op("or", b.splat(me, HALF), vector_constant("i64", [HALF * half + i for i in range(HALF)]))
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(b.compare("uge", j, each), done)
        b.store(b.op("add", j, i32(1)), at)
        units = b.op("add", unit, b.splat(b.resize(j, "i64"), HALF))
        b.call("void", f"gs_global_apart_{kind}", warp, race, shadow, units, entries, mask)


def _range(m: Module, kind: str) -> None:
    """Bytes that a copy of one lane moves; units that it touches in part are left out. `source`: the bytes of a store,
    null where they are not in one piece.
    """
    head = ("ptr warp", "i32 site", "i32 lane", "i64 address", "i64 bytes", "i32 strength", "ptr source")
    with m.function("void", f"gs_global_range_{kind}", *head) as (b, args):
        warp, site, lane, address, bytes_, strength, source = args
        race, shadow, shift, me = _opening(b, warp, site, strength)
        _show_source(b, race, lane, address, bytes_, source)
        long, start = b.resize(shift, "i64"), b.get(shadow, SHADOW, "start")
        with b.if_(b.compare("ult", address, start)):
            b.ret()
        away, round_up = b.op("sub", address, start), b.op("sub", b.op("shl", i64(1), long), i64(1))
        first = b.op("lshr", b.op("add", away, round_up), long)
        end = b.intrinsic("umin", b.op("lshr", b.op("add", away, bytes_), long), b.get(shadow, SHADOW, "units"))
        entries, at = b.splat(b.op("or", me, b.resize(lane, "i64")), HALF), b.alloca("i64")
        b.store(first, at)
        with b.loop() as done:
            unit = b.load("i64", at)
            b.break_if(b.compare("uge", unit, end), done)
            b.store(b.op("add", unit, i64(HALF)), at)
            units = b.op("add", b.splat(unit, HALF), vector_constant("i64", range(HALF)))
            mask = b.bitcast(b.compare("ult", units, b.splat(end, HALF)), "i16")
            b.call("void", f"gs_global_apart_{kind}", warp, race, shadow, units, entries, mask)
        b.put(race, RACE, "values", 0)


def _show_source(b: Builder, race: Value, lane: Value, address: Value, bytes_: Value, source: Value) -> None:
    """What is stored, as gs_race_silent reads it: rows of lanes, of which there is one element, the whole copy."""
    where, back = b.alloca("i64"), b.op("sub", i64(0), b.resize(lane, "i64"))
    b.store(address, where)
    first = b.offset(source, b.op("mul", back, bytes_))
    b.put(race, RACE, "where", b.offset(where, b.op("mul", back, i64(8))))
    b.put(race, RACE, "values", b.select(b.compare("eq", source, _NULL), _NULL, first))
    b.put(race, RACE, "size", b.resize(bytes_, "i32"))
