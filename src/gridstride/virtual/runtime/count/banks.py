"""The runtime's counting of accesses to shared memory: wavefronts and bank conflicts; and of generic addresses."""

from __future__ import annotations

from gridstride.virtual.abi.access_counters import COUNTERS, KINDS
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.count.global_counters import bump, popcount, unless_idle, visited

BANKS = 32
HALF = LANES // 2
SLOTS = 64


def emit_banks(m: IrModule) -> None:
    """gs_count_shared, gs_wavefronts, and gs_count_generic_KIND."""
    _count_shared(m)
    _count_shared_atomic(m)
    _wavefronts(m)
    for kind in KINDS:
        _count_generic(m, kind)


def _count_shared(m: IrModule) -> None:
    """Wavefronts: the most 4-byte words that one bank must give, for each part of the warp that moves 128 bytes.

    Two parts of a load are one where every lane shares its address with the next lane, or with the one after that: seen
    on an H200 (tests/virtual/fixtures/access_patterns_h200.json), for 8 and 16 bytes and not for stores.
    """
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i32')} address", "i32 size", "i1 loads")
    with m.function("void", "gs_count_shared", *head) as (b, (warp, at, mask, address, size, loads)):
        unless_idle(b, mask)
        lanes = popcount(b, mask)
        words = (size + 3) >> 2
        with b.if_(words == 1, likely=True):
            fronts = b.call("i32", "gs_wavefronts", mask, address, words)
            bump(b, warp, at, {"requests": i32(1), "lanes": lanes, "wavefronts": fronts, "ideal": i32(1)})
            b.ret()
        twins = _twins(b, mask, address, 1) | _twins(b, mask, address, 2)
        per_part = i32(LANES) // words
        per_part = per_part << b.resize(loads & twins, "i32")
        total, ideal, start = b.alloca("i32"), b.alloca("i32"), b.alloca("i32")
        for slot in (total, ideal, start):
            b.store(i32(0), slot)
        ones = i32(-1) >> (LANES - per_part)
        with b.loop() as done:
            first = b.load("i32", start)
            b.break_if(first >= LANES, done)
            part = mask & (ones << first)
            with b.if_(part != 0):
                fronts = b.call("i32", "gs_wavefronts", part, address, words)
                b.store(b.load("i32", total) + fronts, total)
                b.store(b.load("i32", ideal) + 1, ideal)
            b.store(first + per_part, start)
        figures = {
            "requests": i32(1),
            "lanes": lanes,
            "wavefronts": b.load("i32", total),
            "ideal": b.load("i32", ideal),
        }
        bump(b, warp, at, figures)


def _count_shared_atomic(m: IrModule) -> None:
    """Lanes that meet at one word go one after the other: the most lanes of one bank.

    Adding the constant 1 is done in one pass for all lanes of a word, and is counted as a load is: seen on an H200.
    """
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", "gs_count_shared_atomic", *head) as (b, (warp, at, mask, address, size)):
        unless_idle(b, mask)
        words = (size + 3) >> 2
        word = address >> 2
        fronts = _most(b, mask, word, words, b.constant("i1", True))
        bump(b, warp, at, {"requests": i32(1), "lanes": popcount(b, mask), "wavefronts": fronts, "ideal": words})


def _twins(b: Builder, mask: Value, address: Value, apart: int) -> Value:
    """An i1: every active lane has the address of the lane whose number differs in one bit, where that is active."""
    order = [i ^ apart for i in range(LANES)]
    active = b.bitcast(mask, wide("i1"))
    paired = active & b.shuffle(active, order)
    differs = paired & (address != b.shuffle(address, order))
    return b.bitcast(differs, "i32") == 0


def _wavefronts(m: IrModule) -> None:
    """Of some lanes of a warp that read `words` words each: one where all name different banks, or the same word."""
    head = ("i32 part", f"{wide('i32')} address", "i32 words")
    with m.function("i32", "gs_wavefronts", *head) as (b, (part, address, words)):
        word = address >> 2
        with b.if_((part == -1) & (words == 1)):
            _in_halves(b, word)
        # Half-warps that read the same words, as two rows of a 16-wide tile do, are one half-warp.
        low, high = (b.shuffle(word, [HALF * h + i for i in range(HALF)]) for h in range(2))
        equal = b.bitcast(low == high, f"i{HALF}") == -1
        twice = equal & (part == -1)
        part = b.select(twice, i32(0xFFFF), part)
        rising, leaders = visited(b, part, word)
        part = b.select(rising, leaders, part)
        bank = word & (BANKS - 1)
        bit = 1 << bank
        mine = b.select(b.bitcast(part, wide("i1")), bit, constant(bit.type, 0))
        union = b.call("i32", f"llvm.vector.reduce.or.v{LANES}i32", mine)
        with b.if_(popcount(b, union) == popcount(b, part)):
            b.ret(i32(1))
        b.ret(_most(b, part, word, words, rising))


def _in_halves(b: Builder, word: Value) -> None:
    """Returns the wavefronts of what warps do most: a row, half a row twice, one word in each half."""
    first, second = b.extract(word, 0), b.extract(word, HALF)
    for steps in (range(LANES), [i % HALF for i in range(LANES)]):
        selected = b.splat(first) + vector_constant("i32", steps)
        with b.if_(b.bitcast(word == selected, "i32") == -1):
            b.ret(i32(1))
    upper = vector_constant("i1", [i >= HALF for i in range(LANES)])
    selected = b.select(upper, b.splat(second), b.splat(first))
    with b.if_(b.bitcast(word == selected, "i32") == -1):
        apart = first ^ second
        clash = (apart & (BANKS - 1)) == 0
        more = clash & (apart != 0)
        b.ret(1 + b.resize(more, "i32"))


def _most(b: Builder, part: Value, word: Value, words: Value, distinct: Value) -> Value:
    """The most different words of one bank. `distinct`: the lanes of the part are known to name different ones."""
    load, most, keys = b.alloca(f"[{BANKS} x i8]", align=32), b.alloca("i32"), b.alloca(f"[{SLOTS} x i32]", align=64)
    values = b.alloca(wide("i32"), align=64)
    b.store(word, values, align=64)
    b.store(constant(f"<{BANKS} x i8>", 0), load, align=32)
    b.store(constant(f"<{SLOTS} x i32>", 0), keys, align=64)
    b.store(i32(0), most)
    with b.lanes(part) as lane:
        key = b.load("i32", b.offset(values, b.resize(lane, "i64") << 2))
        fresh = b.alloca("i1")
        b.store(distinct, fresh)
        with b.if_(~distinct):
            _insert(b, keys, key, fresh)
        with b.if_(b.load("i1", fresh)):
            _serve(b, load, most, key, words)
    return b.load("i32", most)


def _insert(b: Builder, keys: Value, key: Value, fresh: Value) -> None:
    """`fresh` says whether the key was not in the table; it is now."""
    at, mark = b.alloca("i32"), key + 1
    b.store((key ^ (key >> 5)) & (SLOTS - 1), at)
    with b.loop() as done:
        slot = b.load("i32", at)
        pointer = b.offset(keys, b.resize(slot, "i64") << 2)
        held = b.load("i32", pointer)
        b.break_if(held == mark, done)
        empty, on = b.new_label("empty"), b.new_label("on")
        b.branch(held == 0, empty, on)
        b.start(empty)
        b.store(mark, pointer)
        b.store(constant("i1", True), fresh)
        b.jump(done)
        b.start(on)
        b.store((slot + 1) & (SLOTS - 1), at)


def _serve(b: Builder, load: Value, most: Value, key: Value, words: Value) -> None:
    """One more word from each of the banks that hold the lane's."""
    offset = b.alloca("i32")
    b.store(i32(0), offset)
    with b.loop() as done:
        j = b.load("i32", offset)
        b.break_if(j >= words, done)
        counter = b.offset(load, b.resize((key + j) & (BANKS - 1), "i64"))
        more = b.load("i8", counter) + 1
        b.store(more, counter)
        b.store(b.intrinsic("umax", b.load("i32", most), b.resize(more, "i32")), most)
        b.store(j + 1, offset)


def _count_generic(m: IrModule, kind: str) -> None:
    """A generic access: its lanes in shared and local memory have counters of their own behind those of global."""
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", f"gs_count_generic_{kind}", *head) as (b, (warp, at, mask, address, size)):
        unless_idle(b, mask)
        room = 8 * len(COUNTERS)
        shared = address - b.splat(warp.shared)
        local = address - b.splat(warp.local)
        stride = b.resize(warp.launch.local_size, "i64")
        width = stride * LANES
        in_shared = _inside(b, mask, shared, warp.shared_size)
        own = _inside(b, mask, local, width)
        loads = constant("i1", kind in ("load", "bypass"))
        with b.if_(in_shared != 0):
            to = at + room
            offsets = b.resize(shared, "i32")
            if kind == "atomic":
                b.call("void", "gs_count_shared_atomic", warp, to, in_shared, offsets, size)
            else:
                b.call("void", "gs_count_shared", warp, to, in_shared, offsets, size, loads)
        with b.if_(own != 0):
            lane = vector_constant("i64", range(LANES)) * b.splat(stride)
            offset = b.resize(local - lane, "i32")
            b.call("void", "gs_count_local", warp, at + 2 * room, own, offset, size)
        remaining = mask & ~(in_shared | own)
        b.call("void", f"gs_count_global_{kind}", warp, at, remaining, address, size)


def _inside(b: Builder, mask: Value, distance: Value, size: Value) -> Value:
    return mask & b.bitcast(distance < b.splat(size), "i32")
