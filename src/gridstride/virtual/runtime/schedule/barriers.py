"""Barriers: lanes arrive, wait and are counted out when they leave."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import READY, SPINNING, WAITING
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import BARRIERS, LANES
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import can_run, i32, increment, switch, to_scheduler, warp_at

_PATIENCE = 3
"""Turns that a warp lets others have: in the first its block comes to where it waits, then other blocks have theirs."""
_LATE, _LONG = 40, 16
"""The same in a cooperative grid: at a warp's start, while others come to the grid's first barrier, although they give
way at each atomic before it; behind a store that may let others go, while these come to the grid's next barrier."""


def emit_barriers(m: IrModule) -> None:
    """gs_arrive, gs_wait and what they are made of; gs_sync for the usual barrier."""
    for part in (_complete, _arrive, _waiting, _sync, _leaving, _give_way, _start_late):
        part(m)


def _complete(m: IrModule) -> None:
    """Opens a barrier when all that it waits for have arrived."""
    with m.function("void", "gs_complete", "block* block", "i32 which") as (b, (block, which)):
        index = b.resize(which, "i64")
        arrived, expected = block.field("arrived", index), block.field("expected", index)
        count = b.load("i32", expected)
        is_complete = count == 0
        needed = b.select(is_complete, block.threads, count)
        have = b.load("i32", arrived)
        full = (have >= needed) & (have != 0)
        with b.if_(full):
            b.store(i32(0), arrived)
            members, race = block.field("members", index), block.race
            with b.if_(race != NULL):
                b.call("void", "gs_race_barrier", race, b.load("i32", members))
            b.store(i32(0), members)
            votes = block.field("votes", index)
            b.store(b.load("i32", votes), block.field("results", index))
            b.store(i32(0), votes)
            increment(b, block.field("phases", index))
            increment(b, block.field("epoch"))


def _arrive(m: IrModule) -> None:
    """Counts lanes in at a barrier; gives the token to wait with."""
    with m.function("i64", "gs_arrive", "warp* warp", "i32 which", "i32 count", "i32 mask", "i32 vote", "i32 site") as (
        b,
        (warp, which, count, mask, vote, site),
    ):
        part = count & (LANES - 1)
        with b.if_((which >= BARRIERS) | (part != 0)):
            kind, odd = i32(FAULT["invalid_instruction"]), b.resize(count, "i64")
            b.call("void", "gs_fault", warp, site, kind, mask, odd, i32(0))
        block, index = warp.block, b.resize(which, "i64")
        warp.site = site
        phase = block.phases[index]
        token = (index << 32) | b.resize(phase, "i64")
        present = b.call("i32", "llvm.ctpop.i32", mask)
        # With a thread count, a warp counts whole, the lanes that left included.
        entire = (count != 0) & (mask == warp.live)
        entire &= warp.split == NULL
        increment(b, block.field("arrived", index), b.select(entire, i32(LANES), present))
        increment(b, block.field("votes", index), b.call("i32", "llvm.ctpop.i32", vote))
        b.store(count, block.field("expected", index))
        members = block.field("members", index)
        me = 1 << warp.warp
        b.store(b.load("i32", members) | me, members)
        b.call("void", "gs_complete", block, which)
        b.ret(token)


def _waiting(m: IrModule) -> None:
    """Holds a warp until a barrier opens."""
    with m.function("i1", "gs_gate_open", "warp* warp", "i64 token") as (b, (warp, token)):
        block = warp.block
        b.ret(block.phases[token >> 32] != b.resize(token, "i32"))
    with m.function("void", "gs_wait_any", "warp* warp") as (b, (warp,)):
        block = warp.block
        warp.epoch = block.epoch
        warp.state = WAITING
        # The next warp of the round can be switched to at once: going by the scheduler costs a second switch.
        cursor = block.cursor
        with b.if_(cursor < block.warp_count, likely=True):
            next_warp = warp_at(b, block, cursor)
            with b.if_(can_run(b, block, next_warp), likely=True):
                block.cursor = cursor + 1
                next_warp.state = READY
                switch(b, warp.field("sp"), next_warp.sp)
                b.ret()
        to_scheduler(b, warp)
    with m.function("void", "gs_wait", "warp* warp", "i64 token") as (b, (warp, token)), b.loop() as done:
        b.break_if(b.call("i1", "gs_gate_open", warp, token), done)
        b.call("void", "gs_wait_any", warp)


def _sync(m: IrModule) -> None:
    """`bar.sync 0` of a whole block that is not observed: what nearly every __syncthreads() is, in one short call."""
    with m.function("void", "gs_sync", "warp* warp", "i32 mask", "i32 site") as (b, (warp, mask, site)):
        block = warp.block
        with b.if_(block.race != NULL):
            token = b.call("i64", "gs_arrive", warp, i32(0), i32(0), mask, i32(0), site)
            b.call("void", "gs_wait", warp, token)
            b.ret()
        warp.site = site
        block.expected[0] = 0
        phases = block.field("phases")
        phase = b.load("i32", phases)
        arrived = block.arrived[0] + b.call("i32", "llvm.ctpop.i32", mask)
        with b.if_(arrived >= block.threads):
            block.arrived[0] = 0
            b.store(phase + 1, phases)
            increment(b, block.field("epoch"))
            b.ret()
        block.arrived[0] = arrived
        with b.loop() as open_:
            b.call("void", "gs_wait_any", warp)
            b.break_if(b.load("i32", phases) != phase, open_)


def _leaving(m: IrModule) -> None:
    """What a reduction gave; giving way; lanes that are gone for good."""
    with m.function("i32", "gs_barrier_result", "warp* warp", "i32 which") as (b, (warp, which)):
        block = warp.block
        b.ret(block.results[b.resize(which, "i64")])
    with m.function("void", "gs_yield", "warp* warp", "i32 state") as (b, (warp, state)):
        warp.state = state
        to_scheduler(b, warp)
    with m.function("void", "gs_exit", "warp* warp", "i32 mask") as (b, (warp, mask)):
        block = warp.block
        live = warp.live
        gone = live & mask
        warp.live = live ^ gone
        leaving = b.call("i32", "llvm.ctpop.i32", gone)
        cluster = block.cluster
        with b.if_(cluster != NULL):
            b.call("void", "gs_cluster_exit", warp, cluster, gone)
        block.threads -= leaving
        # Since when it is gone: a race is told by it that comes of having left before a barrier.
        warp.epoch = b.select(gone != 0, block.epoch, warp.epoch)
        # Those left behind at a barrier may be all that it waits for; mostly nobody is at any.
        arrived = b.load(f"<{BARRIERS} x i32>", block.field("arrived"), align=4)
        waited_for = b.call("i32", f"llvm.vector.reduce.or.v{BARRIERS}i32", arrived)
        with b.if_((gone != 0) & (waited_for != 0)):
            for number in range(BARRIERS):
                b.call("void", "gs_complete", block, i32(number))


def _start_late(m: IrModule) -> None:
    """gs_start_late, ahead of a warp's first instruction: the first warps of all blocks go as far as they can before
    the others begin. Whoever counts a block without a barrier of its own counts warps that have done nothing yet.
    """
    with m.function("void", "gs_start_late", "warp* warp") as (b, (warp,)):
        _let_pass(b, warp, warp.warp != 0, _LATE)


def _let_pass(b: Builder, warp: Record, which: Value, most: int) -> None:
    """In a cooperative grid, where the schedule does what is open the other way, `which` warps wait for some rounds."""
    launch, tries = warp.launch, b.alloca("i32")
    apart = (launch.lanes_back != 0) & (launch.shared_stacks == 0) & (launch.cluster_size == 0)
    cooperative = b.load("i64", launch.field("envreg"), align=4) != 0
    b.store(b.select(apart & cooperative & which, i32(most), i32(0)), tries)
    with b.loop() as done:
        rounds = b.load("i32", tries)
        b.break_if(rounds == 0, done)
        b.store(rounds - 1, tries)
        b.call("void", "gs_yield", warp, i32(SPINNING))


def _give_way(m: IrModule) -> None:
    """gs_give_way: where the schedule does what is open the other way, half of the warps wait while others go on, first
    those of the block and then other blocks': these may come between two steps of one thread, and overtake it. In step
    all wait, for one turn. gs_give_way_long, behind a store: in a cooperative grid all wait, longer.
    """
    with m.function("void", "gs_give_way", "warp* warp") as (b, (warp,)):
        launch, ctaid = warp.launch, warp.field("ctaid")
        turn = warp.warp ^ launch.block_back
        for axis in range(3):
            turn = turn ^ b.load("i32", b.offset(ctaid, 4 * axis))
        with b.if_((launch.lanes_back != 0) & (launch.shared_stacks == 0) & ((turn & 1) == 0)):
            for _ in range(_PATIENCE):
                b.call("void", "gs_yield", warp, i32(SPINNING))
        with b.if_((launch.in_step != 0) & (launch.shared_stacks == 0)):
            b.call("void", "gs_yield", warp, i32(SPINNING))
    with m.function("void", "gs_give_way_long", "warp* warp") as (b, (warp,)):
        b.call("void", "gs_give_way", warp)
        _let_pass(b, warp, constant("i1", True), _LONG)
