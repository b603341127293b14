"""Barriers: lanes arrive, wait and are counted out when they leave."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value
from gridstride.virtual.lowering.runtime.common import can_run, i32, i64, increment, switch, to_scheduler, warp_at
from gridstride.virtual.machine.layout import BARRIERS, BLOCK, FAULT, LANES, READY, WAITING, WARP


def emit_barriers(m: Module) -> None:
    """gs_arrive, gs_wait and what they are made of; gs_sync for the usual barrier."""
    for part in (_complete, _arrive, _waiting, _sync, _leaving):
        part(m)


def _complete(m: Module) -> None:
    """Opens a barrier when all that it waits for have arrived."""
    with m.function("void", "gs_complete", "ptr block", "i32 which") as (b, (block, which)):
        index = b.resize(which, "i64")
        arrived, expected = (_barrier_field(b, block, name, index) for name in ("arrived", "expected"))
        count = b.load("i32", expected)
        whole = b.compare("eq", count, i32(0))
        needed = b.select(whole, b.get(block, BLOCK, "threads"), count)
        have = b.load("i32", arrived)
        full = b.op("and", b.compare("uge", have, needed), b.compare("ne", have, i32(0)))
        with b.if_(full):
            b.store(i32(0), arrived)
            members, race = _barrier_field(b, block, "members", index), b.get(block, BLOCK, "race")
            with b.if_(b.compare("ne", race, Value("null", "ptr"))):
                b.call("void", "gs_race_barrier", race, b.load("i32", members))
            b.store(i32(0), members)
            votes = _barrier_field(b, block, "votes", index)
            b.store(b.load("i32", votes), _barrier_field(b, block, "results", index))
            b.store(i32(0), votes)
            increment(b, _barrier_field(b, block, "phases", index))
            increment(b, b.field(block, BLOCK, "epoch"))


def _arrive(m: Module) -> None:
    """Counts lanes in at a barrier; gives the token to wait with."""
    with m.function("i64", "gs_arrive", "ptr warp", "i32 which", "i32 count", "i32 mask", "i32 vote", "i32 site") as (
        b,
        (warp, which, count, mask, vote, site),
    ):
        part = b.op("and", count, i32(LANES - 1))
        with b.if_(b.op("or", b.compare("uge", which, i32(BARRIERS)), b.compare("ne", part, i32(0)))):
            kind, odd = i32(FAULT["invalid_instruction"]), b.resize(count, "i64")
            b.call("void", "gs_fault", warp, site, kind, mask, odd, i32(0))
        block, index = b.get(warp, WARP, "block"), b.resize(which, "i64")
        b.put(warp, WARP, "site", site)
        phase = b.load("i32", _barrier_field(b, block, "phases", index))
        token = b.op("or", b.op("shl", index, i64(32)), b.resize(phase, "i64"))
        present = b.call("i32", "llvm.ctpop.i32", mask)
        # With a thread count, a warp counts whole, the lanes that left included.
        entire = b.op("and", b.compare("ne", count, i32(0)), b.compare("eq", mask, b.get(warp, WARP, "live")))
        entire = b.op("and", entire, b.compare("eq", b.get(warp, WARP, "split"), Value("null", "ptr")))
        increment(b, _barrier_field(b, block, "arrived", index), b.select(entire, i32(LANES), present))
        increment(b, _barrier_field(b, block, "votes", index), b.call("i32", "llvm.ctpop.i32", vote))
        b.store(count, _barrier_field(b, block, "expected", index))
        members = _barrier_field(b, block, "members", index)
        me = b.op("shl", i32(1), b.get(warp, WARP, "warp"))
        b.store(b.op("or", b.load("i32", members), me), members)
        b.call("void", "gs_complete", block, which)
        b.ret(token)


def _waiting(m: Module) -> None:
    """Holds a warp until a barrier opens."""
    with m.function("i1", "gs_gate_open", "ptr warp", "i64 token") as (b, (warp, token)):
        block = b.get(warp, WARP, "block")
        phases = _barrier_field(b, block, "phases", b.op("lshr", token, i64(32)))
        b.ret(b.compare("ne", b.load("i32", phases), b.resize(token, "i32")))
    with m.function("void", "gs_wait_any", "ptr warp") as (b, (warp,)):
        block = b.get(warp, WARP, "block")
        b.put(warp, WARP, "epoch", b.get(block, BLOCK, "epoch"))
        b.put(warp, WARP, "state", WAITING)
        # The next warp of the round can be switched to at once: going by the scheduler costs a second switch.
        cursor = b.get(block, BLOCK, "cursor")
        with b.if_(b.compare("ult", cursor, b.get(block, BLOCK, "warp_count")), likely=True):
            after = warp_at(b, block, cursor)
            with b.if_(can_run(b, block, after), likely=True):
                b.put(block, BLOCK, "cursor", b.op("add", cursor, i32(1)))
                b.put(after, WARP, "state", READY)
                switch(b, b.field(warp, WARP, "sp"), b.get(after, WARP, "sp"))
                b.ret()
        to_scheduler(b, warp)
    with m.function("void", "gs_wait", "ptr warp", "i64 token") as (b, (warp, token)), b.loop() as done:
        b.break_if(b.call("i1", "gs_gate_open", warp, token), done)
        b.call("void", "gs_wait_any", warp)


def _sync(m: Module) -> None:
    """`bar.sync 0` of a whole block that is not observed: what nearly every __syncthreads() is, in one short call."""
    with m.function("void", "gs_sync", "ptr warp", "i32 mask", "i32 site") as (b, (warp, mask, site)):
        block = b.get(warp, WARP, "block")
        with b.if_(b.compare("ne", b.get(block, BLOCK, "race"), Value("null", "ptr"))):
            token = b.call("i64", "gs_arrive", warp, i32(0), i32(0), mask, i32(0), site)
            b.call("void", "gs_wait", warp, token)
            b.ret()
        b.put(warp, WARP, "site", site)
        b.put(block, BLOCK, "expected", 0)
        phases = b.field(block, BLOCK, "phases")
        phase = b.load("i32", phases)
        arrived = b.op("add", b.get(block, BLOCK, "arrived"), b.call("i32", "llvm.ctpop.i32", mask))
        with b.if_(b.compare("uge", arrived, b.get(block, BLOCK, "threads"))):
            b.put(block, BLOCK, "arrived", 0)
            b.store(b.op("add", phase, i32(1)), phases)
            increment(b, b.field(block, BLOCK, "epoch"))
            b.ret()
        b.put(block, BLOCK, "arrived", arrived)
        with b.loop() as open_:
            b.call("void", "gs_wait_any", warp)
            b.break_if(b.compare("ne", b.load("i32", phases), phase), open_)


def _leaving(m: Module) -> None:
    """What a reduction gave; giving way; lanes that are gone for good."""
    with m.function("i32", "gs_barrier_result", "ptr warp", "i32 which") as (b, (warp, which)):
        block = b.get(warp, WARP, "block")
        b.ret(b.load("i32", _barrier_field(b, block, "results", b.resize(which, "i64"))))
    with m.function("void", "gs_yield", "ptr warp", "i32 state") as (b, (warp, state)):
        b.put(warp, WARP, "state", state)
        to_scheduler(b, warp)
    with m.function("void", "gs_exit", "ptr warp", "i32 mask") as (b, (warp, mask)):
        block = b.get(warp, WARP, "block")
        live = b.get(warp, WARP, "live")
        gone = b.op("and", live, mask)
        b.put(warp, WARP, "live", b.op("xor", live, gone))
        leaving = b.call("i32", "llvm.ctpop.i32", gone)
        cluster = b.get(block, BLOCK, "cluster")
        with b.if_(b.compare("ne", cluster, Value("null", "ptr"))):
            b.call("void", "gs_cluster_exit", warp, cluster, gone)
        b.put(block, BLOCK, "threads", b.op("sub", b.get(block, BLOCK, "threads"), leaving))
        # Those left behind at a barrier may be all that it waits for; mostly nobody is at any.
        arrived = b.load(f"<{BARRIERS} x i32>", b.field(block, BLOCK, "arrived"), align=4)
        waited_for = b.call("i32", f"llvm.vector.reduce.or.v{BARRIERS}i32", arrived)
        with b.if_(b.op("and", b.compare("ne", gone, i32(0)), b.compare("ne", waited_for, i32(0)))):
            for number in range(BARRIERS):
                b.call("void", "gs_complete", block, i32(number))


def _barrier_field(b: Builder, block: Value, name: str, index: Value) -> Value:
    return b.offset(b.field(block, BLOCK, name), b.op("mul", index, i64(4)))
