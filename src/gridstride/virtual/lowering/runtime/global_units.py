"""Sixteen units of global memory at a time: what is known of them, whether it came before, and what is now known.

Units that nobody else touched in this launch, the usual case, take a few vector instructions; where another warp or
block did, runtime/stamps.py says whether that happened before. An entry is written whole, so that blocks on other
threads of the process may make a race be missed but none be invented.
"""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, suffix, vector_constant
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import CHECKED, LANES, RACE, SHADOW, SHADOW_PLANES, STRONG, WARP

HALF = LANES // 2
RECORDS, STAMPS, _BITS = f"<{HALF} x i64>", f"<{HALF} x i32>", f"<{HALF} x i1>"
_KIND_OF_ACCESS = 0xFFFFFFFF << 32 | 3 << 5
"""Stamp and strength of an entry: a read that has the same ones is already there."""


def emit_global_units(m: Module) -> None:
    """gs_global_run_*: units in a row; gs_global_apart_*: units anywhere; gs_global_one_*: one unit."""
    for kind in ("load", "store"):
        _run(m, kind)
        _apart(m, kind)
        _one(m, kind)
        _meet(m, kind)


Load = Callable[[str], Value]
Store = Callable[[str, Value, Value | None], None]
"""Entries of a plane; with a mask (i16) only some are written."""


def _run(m: Module, kind: str) -> None:
    head = ("ptr warp", "ptr race", "ptr shadow", "i64 first", f"{RECORDS} entries")
    with m.function("void", f"gs_global_run_{kind}", *head) as (b, (warp, race, shadow, first, entries)):
        place = b.op("shl", first, i64(3))
        planes = {name: b.offset(b.get(shadow, SHADOW, name), place) for name in SHADOW_PLANES}

        def load(name: str) -> Value:
            return b.load(RECORDS, planes[name], align=8)

        def store(name: str, value: Value, mask: Value | None) -> None:
            if mask is None:
                b.store(value, planes[name], align=8)
                return
            bits = b.bitcast(mask, _BITS)
            b.call("void", f"llvm.masked.store.{suffix(RECORDS)}.p0", value, planes[name], i32(8), bits)

        units = b.op("add", b.splat(first, HALF), vector_constant("i64", range(HALF)))
        _look(b, kind, (warp, race, shadow), units, entries, constant("i16", -1), load, store)


def _apart(m: Module, kind: str) -> None:
    head = ("ptr warp", "ptr race", "ptr shadow", f"{RECORDS} units", f"{RECORDS} entries", "i16 mask")
    with m.function("void", f"gs_global_apart_{kind}", *head) as (b, (warp, race, shadow, units, entries, mask)):
        offsets = b.op("shl", units, constant(RECORDS, 3))

        def pointers(name: str) -> Value:
            text = f"getelementptr i8, ptr {b.get(shadow, SHADOW, name).name}, {offsets!r}"
            return b.define(f"<{HALF} x ptr>", text)

        def load(name: str) -> Value:
            gather, bits = f"llvm.masked.gather.{suffix(RECORDS)}.v{HALF}p0", b.bitcast(mask, _BITS)
            return b.call(RECORDS, gather, pointers(name), i32(8), bits, constant(RECORDS, 0))

        def store(name: str, value: Value, some: Value | None) -> None:
            bits = b.bitcast(mask if some is None else b.op("and", mask, some), _BITS)
            scatter = f"llvm.masked.scatter.{suffix(RECORDS)}.v{HALF}p0"
            b.call("void", scatter, value, pointers(name), i32(8), bits)

        _look(b, kind, (warp, race, shadow), units, entries, mask, load, store)


def _stamps(b: Builder, records: Value) -> Value:
    return b.resize(b.op("lshr", records, constant(records.type, 32)), "i32")


def _earliest(b: Builder, stamp: Value) -> Value:
    """The least entry with a stamp."""
    return b.op("shl", b.resize(stamp, "i64"), i64(32))


def _known(b: Builder, last: Value, entries: Value, mask: Value) -> None:
    """Returns where an access like this one, by this warp since it last met others, is noted already: whoever came
    later has looked at it then.
    """
    differs = b.op("and", b.op("xor", last, entries), constant(RECORDS, _KIND_OF_ACCESS))
    new = b.op("and", b.bitcast(b.compare("ne", differs, constant(RECORDS, 0)), "i16"), mask)
    with b.if_(b.compare("eq", new, constant("i16", 0))):
        b.ret()


def _look(
    b: Builder, kind: str, where: tuple[Value, Value, Value], units: Value, entries: Value, mask: Value, load: Load,
    store: Store,
) -> None:  # fmt: skip
    """Compares an access with what is known of its units, and makes it known."""
    warp, race, shadow = where
    base, silent = b.splat(_earliest(b, b.get(shadow, SHADOW, "base")), HALF), b.alloca("i16")
    b.store(constant("i16", 0), silent)

    def meet(records: Value, *, read: bool) -> None:
        """Looks for races with reads or writes of this launch, but for this warp's own since it last met others."""
        recent = b.op("and", b.bitcast(b.compare("uge", records, base), "i16"), mask)
        idle, slow = b.new_label("idle"), b.new_label("slow")
        b.branch(b.compare("eq", recent, constant("i16", 0)), idle, slow, likely=True)
        b.start(slow)
        others = b.compare("ne", _stamps(b, records), _stamps(b, entries))
        # Two that are strong everywhere never race, and counters have many of them.
        both = b.op("and", b.op("and", records, entries), constant(RECORDS, STRONG << 5))
        weak = b.compare("eq", both, constant(RECORDS, 0))
        if kind == "load" or read:
            checked = b.op("and", records if kind == "load" else entries, constant(RECORDS, CHECKED << 5))
            weak = b.op("and", weak, b.compare("ne", checked, constant(RECORDS, CHECKED << 5)))
        suspects = b.op("and", recent, b.bitcast(b.op("and", others, weak), "i16"))
        with b.if_(b.compare("ne", suspects, constant("i16", 0))):
            more = b.call("i16", f"gs_global_meet_{kind}", warp, race, shadow, units, entries, records, suspects)
            b.store(b.op("or", b.load("i16", silent), more), silent)
        b.jump(idle)
        b.start(idle)

    last = load("read" if kind == "load" else "written")
    _known(b, last, entries, mask)
    if kind == "load":
        meet(load("written"), read=False)
        _remember_read(b, race, base, last, entries, mask, store)
        return
    meet(last, read=False)
    for plane in ("read", "read_before"):
        meet(load(plane), read=True)
    quiet = b.load("i16", silent)
    with b.if_(b.compare("eq", quiet, constant("i16", 0)), likely=True):
        store("written", entries, None)
        b.ret()
    store("written", entries, b.op("xor", quiet, constant("i16", -1)))


def _remember_read(
    b: Builder, race: Value, base: Value, last: Value, entries: Value, mask: Value, store: Store
) -> None:
    """The last read; the one before it, where an earlier block did that, so that a block's own do not hide it."""
    first = b.splat(_earliest(b, b.get(race, RACE, "first")), HALF)
    earlier = b.op("and", b.compare("uge", last, base), b.compare("ult", last, first))
    moved = b.op("and", b.bitcast(earlier, "i16"), mask)
    with b.if_(b.compare("ne", moved, constant("i16", 0))):
        store("read_before", last, moved)
    store("read", entries, None)


def _one(m: Module, kind: str) -> None:
    """The same for one unit; where somebody else was, it goes the long way."""
    head = ("ptr warp", "ptr race", "ptr shadow", "i64 unit", "i64 mine")
    with m.function("void", f"gs_global_one_{kind}", *head) as (b, (warp, race, shadow, unit, entry_)):
        place, base = b.op("shl", unit, i64(3)), _earliest(b, b.get(shadow, SHADOW, "base"))
        where = {name: b.offset(b.get(shadow, SHADOW, name), place) for name in SHADOW_PLANES}
        last = b.load("i64", where["read" if kind == "load" else "written"])
        differs = b.op("and", b.op("xor", last, entry_), i64(_KIND_OF_ACCESS))
        with b.if_(b.compare("eq", differs, i64(0))):
            b.ret()
        recent = b.load("i64", where["written"])
        if kind == "store":
            for name in ("read", "read_before"):
                recent = b.intrinsic("umax", recent, b.load("i64", where[name]))
        with b.if_(b.compare("uge", recent, base)):
            units, entries = b.splat(unit, HALF), b.splat(entry_, HALF)
            b.call("void", f"gs_global_apart_{kind}", warp, race, shadow, units, entries, constant("i16", 1))
            b.ret()
        if kind == "load":
            first = _earliest(b, b.get(race, RACE, "first"))
            with b.if_(b.op("and", b.compare("uge", last, base), b.compare("ult", last, first))):
                b.store(last, where["read_before"])
        b.store(entry_, where["read" if kind == "load" else "written"])


# -- where somebody else was ------------------------------------------------------------------------------------------
def _meet(m: Module, kind: str) -> None:
    """Reports what did not happen before; gives the lanes that store what is there already, which is no write."""
    head = ("ptr warp", "ptr race", "ptr shadow", f"{RECORDS} units", f"{RECORDS} entries", f"{RECORDS} records",
            "i16 suspects")  # fmt: skip
    with m.function("i16", f"gs_global_meet_{kind}", *head) as (b, args):
        warp, race, shadow, units, entries, records, suspects = args
        own, left, silent = b.get(warp, WARP, "warp"), b.alloca("i32"), b.alloca("i32")
        stamps = _stamps(b, records)
        b.store(b.resize(suspects, "i32"), left)
        b.store(i32(0), silent)
        with b.loop() as done:
            now = b.load("i32", left)
            b.break_if(b.compare("eq", now, i32(0)), done)
            lane = b.call("i32", "llvm.cttz.i32", now, constant("i1", True))
            alike = b.compare("eq", stamps, b.splat(b.extract(stamps, lane), HALF))
            group = b.op("and", b.resize(b.bitcast(alike, "i16"), "i32"), now)
            b.store(b.op("xor", now, group), left)
            needed = b.call("i32", "gs_stamp_order", race, own, b.extract(records, lane))
            with b.if_(b.compare("ne", needed, i32(0))), b.lanes(group) as one:
                _conflict(b, kind, (warp, race, shadow), needed, one, (units, entries, records), silent)
        b.ret(b.resize(b.load("i32", silent), "i16"))


def _strength(b: Builder, record: Value) -> Value:
    return b.op("and", b.resize(b.op("lshr", record, i64(5)), "i32"), i32(3))


def _conflict(
    b: Builder, kind: str, where: tuple[Value, Value, Value], needed: Value, one: Value,
    vectors: tuple[Value, Value, Value], silent: Value,
) -> None:  # fmt: skip
    warp, race, shadow = where
    unit, mine, theirs = (b.extract(v, one) for v in vectors)
    weakest = b.intrinsic("umin", _strength(b, mine), _strength(b, theirs))
    with b.if_(b.compare("ult", weakest, needed)):
        lane = b.op("and", b.resize(mine, "i32"), i32(LANES - 1))
        shift = b.get(shadow, SHADOW, "shift")
        away = b.op("shl", unit, b.resize(shift, "i64"))
        address = b.op("add", b.get(shadow, SHADOW, "start"), away)
        loud, done = b.new_label("loud"), b.new_label("told")
        if kind == "store":
            same = b.call("i1", "gs_race_silent", race, lane, address, b.pointer(address), shift)
            b.store(b.op("or", b.load("i32", silent), b.op("shl", b.resize(same, "i32"), one)), silent)
            b.branch(same, done, loud)
        else:
            b.jump(loud)
        b.start(loud)
        b.call("void", "gs_global_report", warp, mine, theirs, address, i32(int(kind == "store")))
        b.jump(done)
        b.start(done)
