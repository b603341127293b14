"""The runtime's mbarrier: a 64-bit object in shared memory that counts arrivals and bytes, phase after phase.

Bits 0-19: arrivals each phase expects; 20-39: those still missing; 40-60: bytes still to come, signed; 61-62: 01, which
says that there is an object; 63: the phase. A cluster runs on one thread, so no access needs to be atomic.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.execution_records import BLOCK, SPINNING
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.mbarriers import (
    ABSENT,
    BAD_BYTES,
    BAD_COUNT,
    BLOCK_ORDER,
    CLUSTER_ORDER,
    COUNT_MASK,
    GIVES_UP,
    MAY_FAIL,
    MAY_WAIT,
    MAY_YIELD,
    TOO_MANY,
)
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64, increment, to_scheduler
from gridstride.virtual.runtime.memory.printf_records import row

_TAG = 1 << 61
_TAG_MASK = 3 << 61


def emit_mbarrier(m: IrModule) -> None:
    """gs_mbarrier_init, _inval, _apply, _arrive, _test."""
    _mbarrier_pointer(m)
    _init(m)
    _inval(m)
    _apply(m)
    _arrive(m)
    _test(m)


@dataclass(frozen=True, slots=True)
class MbarrierState:
    """The parts of an object, each an i64."""

    expected: Value
    missing: Value
    bytes: Value
    phase: Value


def unpacked(b: Builder, word: Value) -> MbarrierState:
    """The parts of an object's 64 bits."""
    low = word & COUNT_MASK
    missing = (word >> 20) & COUNT_MASK
    signed = b.op("ashr", word << 3, i64(43))
    return MbarrierState(low, missing, signed, word >> 63)


def packed(s: MbarrierState) -> Value:
    """The 64 bits of an object."""
    word = s.expected | (s.missing << 20)
    bytes_ = (s.bytes & ((1 << 21) - 1)) << 40
    word = word | bytes_ | (s.phase << 63)
    return word | _TAG


def _misuse(b: Builder, warp: Record, site: Value, lane: Value, what: int, value: Value) -> None:
    kind = i32(FAULT["mbarrier"])
    b.call("void", "gs_fault", warp, site, kind, 1 << lane, value, i32(what))


def _mbarrier_pointer(m: IrModule) -> None:
    """Where a lane's object is; one that no init made is a fault, unless it is about to be made."""
    head = ("warp* warp", "i32 site", "i32 lane", "ptr where", "i32 space", "i32 fresh")
    with m.function("ptr", "gs_mbarrier_place", *head) as (b, (warp, site, lane, where, space, fresh)):
        address = b.load("i64", row(b, where, lane, 8))
        pointer = b.call("ptr", "gs_resolve", warp, site, lane, address, i32(8), space)
        tag = b.load("i64", pointer) & _TAG_MASK
        absent = (tag != _TAG) & (fresh == 0)
        with b.if_(absent):
            _misuse(b, warp, site, lane, ABSENT, address)
        b.ret(pointer)


def _init(m: IrModule) -> None:
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where", "i32 space", "ptr counts")
    with (
        m.function("void", "gs_mbarrier_init", *head) as (b, (warp, site, mask, where, space, counts)),
        b.lanes(mask) as lane,
    ):
        pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(1))
        count = b.load("i64", row(b, counts, lane, 8))
        bad = count - 1 >= COUNT_MASK
        with b.if_(bad):
            _misuse(b, warp, site, lane, BAD_COUNT, count)
        none = b.constant("i64", 0)
        b.store(packed(MbarrierState(count, count, none, none)), pointer)
        offset = b.define("i64", f"ptrtoint {pointer!r} to i64") - warp.shared
        mine = b.splat(b.resize(offset, "i32"))
        b.call("void", "gs_unset_shared_store", warp, i32(1), mine, i32(8))


def _inval(m: IrModule) -> None:
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where", "i32 space")
    with m.function("void", "gs_mbarrier_inval", *head) as (b, (warp, site, mask, where, space)), b.lanes(mask) as lane:
        pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(0))
        b.store(i64(0), pointer)


def _apply(m: IrModule) -> None:
    """Takes arrivals, adds bytes to come, lowers what later phases expect; ends the phase when nothing is missing."""
    head = ("warp* warp", "i32 site", "i32 lane", "ptr place", "i64 arrivals", "i64 bytes", "i64 dropped")
    with m.function("i64", "gs_mbarrier_apply", *head) as (b, (warp, site, lane, pointer, arrivals, bytes_, dropped)):
        old = b.load("i64", pointer)
        s = unpacked(b, old)
        missing, coming = s.missing - arrivals, s.bytes + bytes_
        with b.if_(missing > COUNT_MASK):
            _misuse(b, warp, site, lane, TOO_MANY, s.expected)
        with b.if_(coming + COUNT_MASK > 2 * COUNT_MASK):
            _misuse(b, warp, site, lane, BAD_BYTES, coming)
        expected = s.expected - dropped
        nothing = (missing | coming) == 0
        with b.if_(nothing):
            increment(b, b.record(b.call("ptr", "gs_owner", warp, pointer), BLOCK).field("epoch"))
            b.call("void", "gs_team_flip", warp, pointer)
            b.call("void", "gs_phase_flip", warp, pointer)
        missing = b.select(nothing, expected, missing)
        phase = s.phase ^ b.resize(nothing, "i64")
        b.store(packed(MbarrierState(expected, missing, coming, phase)), pointer)
        b.ret(old)


def _arrive(m: IrModule) -> None:
    """gs_mbarrier_apply for every lane, with the old objects as states."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where", "i32 space", "ptr arrivals", "ptr bytes", "ptr dropped",
            "ptr states", "i32 order")  # fmt: skip
    with m.function("void", "gs_mbarrier_arrive", *head) as (b, args):
        warp, site, mask, where, space, *columns, states, order = args
        orders = (order & BLOCK_ORDER) != 0
        with b.if_(orders):
            b.call("void", "gs_phase_share", warp)
        last = b.alloca("ptr")
        b.store(NULL, last)
        with b.lanes(mask) as lane:
            pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(0))
            b.call("void", "gs_team_give", warp, pointer, NULL, (order & CLUSTER_ORDER) == 0)
            with b.if_(b.load("ptr", last) != pointer):  # the lanes of a warp give the same
                b.call("void", "gs_phase_give", warp, pointer, ~orders)
                b.store(pointer, last)
            values = [b.load("i64", row(b, c, lane, 8)) for c in columns]
            b.store(b.call("i64", "gs_mbarrier_apply", warp, site, lane, pointer, *values), row(b, states, lane, 8))
        with b.if_(orders):
            b.call("void", "gs_phase_gave", warp)


def _test(m: IrModule) -> None:
    """The lanes whose phase (0 or 1 in `phases`) is over.

    Where none is, copies land that the barrier counts, and the warp waits if the flags allow it.
    """
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where", "i32 space", "ptr phases", "i32 flags",
            "i32 order")  # fmt: skip
    with m.function("i32", "gs_mbarrier_test", *head) as (b, (warp, site, mask, where, space, phases, flags, order)):
        over, tries, landed, last = (*(b.alloca("i32") for _ in range(3)), b.alloca("ptr"))
        _give_up(b, warp, flags)
        b.store(flags & (MAY_WAIT | MAY_YIELD), tries)
        with b.loop() as done:
            b.store(i32(0), over)
            b.store(NULL, last)
            with b.lanes(mask) as lane:
                pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(0))
                now = b.load("i64", pointer) >> 63
                past = now != b.load("i64", row(b, phases, lane, 8))
                with b.if_(past):
                    b.call("void", "gs_team_get", warp, pointer, order == 0)
                    with b.if_(b.load("ptr", last) != pointer):
                        b.call("void", "gs_phase_get", warp, pointer, (order & BLOCK_ORDER) == 0)
                        b.store(pointer, last)
                bit = b.resize(past, "i32") << lane
                b.store(b.load("i32", over) | bit, over)
            some = b.load("i32", over) != 0
            b.break_if(some | (mask == 0), done)
            patience = warp.launch.patience_left
            patient = ((flags & GIVES_UP) != 0) & b.compare("sgt", patience, i64(0))
            with b.if_(patient):
                warp.launch.patience_left = patience - 1
            b.break_if(patient, done)  # whoever arrives, and copies, come later than it gives up
            b.store(i32(0), landed)
            with b.if_(warp.copies != NULL), b.lanes(mask) as lane:
                pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, where, space, i32(0))
                lasts = (b.load("i64", pointer) >> 63) == b.load("i64", row(b, phases, lane, 8))
                with b.if_(lasts):  # a lane before may have ended it
                    some = b.call("i32", "gs_copies_land", warp, pointer)
                    b.store(b.load("i32", landed) | some, landed)
            with b.if_(b.load("i32", landed) == 0):
                allowed = b.load("i32", tries)
                b.break_if(allowed == 0, done)
                first = b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))
                pointer = b.call("ptr", "gs_mbarrier_place", warp, site, first, where, space, i32(0))
                warp.polled = b.define("i64", f"ptrtoint {pointer!r} to i64")
                warp.polled_site = site
                _wait(b, warp, site, mask, allowed, tries)
        with b.if_((order & BLOCK_ORDER) != 0):
            b.call("void", "gs_phase_share", warp)
        b.ret(b.load("i32", over))


_GOLDEN = 0x9E3779B1
"""2^32 over the golden ratio: its multiples come to every quarter of 32 bits in turn, and never in step with a loop."""


def _give_up(b: Builder, warp: Record, flags: Value) -> None:
    """Every fourth try_wait or so of a warp ends with nothing said, where the launch asks for it."""
    with b.if_(((flags & MAY_FAIL) != 0) & (warp.launch.lanes_back != 0)):
        tries = warp.tries + 1
        warp.tries = tries
        with b.if_((tries * _GOLDEN) >> 30 == 2):
            b.ret(i32(0))


def _wait(b: Builder, warp: Record, site: Value, mask: Value, allowed: Value, tries: Value) -> None:
    """Holds a warp whose lanes are all here until some phase ends; else lets the others run once."""
    converged = mask == warp.live
    hold = converged & ((allowed & MAY_WAIT) != 0)
    warp.site = site
    with b.if_(hold):
        b.call("void", "gs_wait_any", warp)
    with b.if_(~hold):
        b.store(i32(0), tries)
        warp.state = SPINNING
        to_scheduler(b, warp)
